"""The rules that pages can tell in advance: who may sign, what is missing, which moves an embryo may make.

They take records and give values, without a call or a word for people. The care API decides in the end.
"""
