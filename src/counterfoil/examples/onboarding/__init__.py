"""From a folder of customer documents to one approved case in a CRM, through a crash and a lost reply."""
