import type { RequestOrigin } from '@krmhub/schema';
import type { TrustedPublisher } from '../access/trusted-publishers/check-claims.js';
import type { Act } from './audit-store.js';
import type { DecidedThrough } from './event-store.js';
import type { Time } from './records.js';
import type { TokenRecord } from './token-store.js';

/** The exchange of a token of a provider for one of the registry. */
export interface TokenExchange {
  /** The issuer, and what no other token of it has. */
  used: { issuer: string; key: string; issuedAt: Time; until: Time };
  /** The publishers that it matched, with everything that is pinned from now on. */
  publishers: readonly Pick<TrustedPublisher, 'id' | 'pins'>[];
  token: TokenRecord;
  /** SHA-256 of the secret of the token, in hexadecimal. */
  hash: string;
  origin: RequestOrigin;
}

/** Teams with publishers of an issuer. */
export interface IssuerTeam {
  /** Absent for publishers that administrators added. */
  team?: string;
  /** Whether the keys that the issuer serves count for some of them, and not only keys that owners gave. */
  isServed: boolean;
}

/** Reads trusted publishers. */
export interface TrustedPublisherReader {
  /** Returns the publishers of a group, or all, by group in code unit order and then by time. */
  trustedPublishers(of?: { group: string } | { id: string }): Promise<TrustedPublisher[]>;
  /**
   * Returns the publishers that can accept a token, of the groups or of all: those without keys, and those with a key of
   * this ID, of the groups `keyed`, or at most `limit` of all. Those that expired before `at` are not among them. By group
   * in code unit order, the newest first.
   */
  publishersOfToken(
    of: { issuer: string; keyId: string; at: Time },
    groups: { named: readonly string[]; keyed: readonly string[] } | { limit: number },
  ): Promise<TrustedPublisher[]>;
  /**
   * Returns publishers of an issuer, without keys, of the groups or of all, that expired before `at` and after `since`: a
   * limited number, the newest first.
   */
  endedPublishers(
    of: { issuer: string; at: Time; since: Time },
    groups: readonly string[] | undefined,
  ): Promise<TrustedPublisher[]>;
  /** Returns the teams with publishers of an issuer, without those that expired before `since`. */
  issuerTeams(of: { issuer: string; since: Time }): Promise<IssuerTeam[]>;
}

/** Stores which workflows may publish, and which of their tokens were exchanged. */
export interface TrustedPublisherStore extends TrustedPublisherReader {
  /**
   * `review` sees the others of the group, and how many its team has in all groups, and throws if the publisher must not
   * be one of them. Rejects with a RevisionConflict if the decision to add it is outdated.
   */
  addTrustedPublisher(
    publisher: TrustedPublisher,
    origin?: RequestOrigin,
    review?: (others: readonly TrustedPublisher[], ofTeam: number) => void,
    decided?: DecidedThrough,
  ): Promise<void>;
  /** Revokes the tokens that its workflow got, too. Returns false if there is none with this ID. */
  removeTrustedPublisher(id: string, act: Act): Promise<boolean>;
  /**
   * Stores the token of an exchange, and that the token of the provider is used. Of exchanges of one token, in any
   * process, one is `done`; the others are `used`. It is `changed` if a publisher was removed, or pinned by another run, and `forgotten` if a
   * backup was restored after the token was issued: it may have been used.
   */
  exchangeToken(exchange: TokenExchange): Promise<'done' | 'used' | 'changed' | 'forgotten'>;
}
