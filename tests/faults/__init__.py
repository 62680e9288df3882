"""Every promise of the README against hostile agents, in every kind of loop. Only ``make faults`` runs these."""
