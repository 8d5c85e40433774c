"""Files that an operator deploys: server configurations."""
