/**
 * The seed of a test's random choices, which its name or its message says. Every run has the same one, so that a change
 * that breaks nothing fails nothing; `KRMHUB_TEST_SEED` names another.
 */
export const seed = Number(process.env.KRMHUB_TEST_SEED ?? 1);
