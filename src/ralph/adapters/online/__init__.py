"""How services on the network are asked: requests, answers, logins and limits. The ground that forges and sources share."""
