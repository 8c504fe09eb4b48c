/** A document that somebody sends who means no good. */
export interface HostileCase {
  name: string;
  /** What lint and publish have to say: `either` where both are right, and only the bounds matter. */
  verdict: 'refused' | 'taken' | 'either';
  make(): Uint8Array;
}
