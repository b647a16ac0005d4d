"""What inbound calls bring about: messages and enquiries from text messages and e-mails, and paid storage."""
