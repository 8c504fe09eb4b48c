/** A browser has no signals. */
export const constants: { signals: Readonly<Record<string, number>> } = { signals: {} };
