from originset.python_api import Explanation, StudyReader, StudyTables, explain, open_study, plan

__all__ = ["Explanation", "StudyReader", "StudyTables", "explain", "open_study", "plan"]
__version__: str
