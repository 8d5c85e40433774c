"""The paper's figures and tables, drawn from a study or from the authors' data."""
