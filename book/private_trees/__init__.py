"""The machinery of the book Private Trees: studies, figures, tables, exercises and pages."""
