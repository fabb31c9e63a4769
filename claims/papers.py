"""The papers whose claims are tested."""

BIGRAM = "Sparse contextual bigrams (Ren, Wang, Lee 2024)"
JOMA = "JoMA (Tian et al. 2024)"
MARKOV = "Local to global (Makkuva et al. 2024)"
TOPIC = "Topic structure (Li, Li, Risteski 2023)"
TRAINING = "Training rules (popflow's own questions)"
