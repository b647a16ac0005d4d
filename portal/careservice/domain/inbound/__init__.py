"""The effects of inbound webhooks: messages and prospects from text messages and e-mails, and paid storage."""
