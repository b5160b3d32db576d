"""pyACL's names and conventions over the libascendcl of this process."""
