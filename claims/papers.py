"""Papers whose claims are tested."""

BIGRAM = "Sparse contextual bigrams (Ren, Wang, Lee 2024)"
JOMA = "JoMA (Tian et al. 2024)"
MARKOV = "Local to global (Makkuva et al. 2024)"
TOPIC = "Topic structure (Li, Li, Risteski 2023)"
OWN = "Questions of popflow's own"

#: Texts that state a paper's claims, used where a protocol names no section or figure.
SOURCES = {
    BIGRAM: "the authors' answers to the reviews, NeurIPS 2024, and arXiv 2410.23438",
    JOMA: "the authors' answers to the reviews, ICLR 2024, and arXiv 2310.00535",
    MARKOV: "abstract, arXiv 2406.03072",
    TOPIC: "summary by sections of arXiv 2303.04245",
}
