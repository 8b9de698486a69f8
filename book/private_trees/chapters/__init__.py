"""What each chapter needs beside its text: its parameters, what its figures and tables take, and its checked sentences.

One module a notebook. A notebook calls the functions named ``check_…`` in its last cell, with its own results.
"""
