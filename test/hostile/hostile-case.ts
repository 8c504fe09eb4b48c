/** A document that an attacker sends. */
export interface HostileCase {
  name: string;
  /** The expected result of lint and publish: `either` if both are correct, and only the bounds matter. */
  verdict: 'refused' | 'taken' | 'either';
  make(): Uint8Array;
}
