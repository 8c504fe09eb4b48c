/**
 * Characters of YAML up to which all resources of a package may keep their models, which makes the next function
 * faster. The models of larger packages, from some 12,000 resources on, would take gigabytes.
 */
export const MAX_TEXT_WITH_MODELS = 4_000_000;
