import type { Act, TokenRecord } from '@krmhub/catalog';
import type { RequestOrigin } from '@krmhub/schema';
import type { SealedSignIn } from './sign-in-store.js';

/** What the user allowed, who is found again when the token is made. */
export interface LoginApproval {
  /** ID of the user. Absent for an administrator who signed in with a token. */
  user?: string;
  /** Hash of that token. */
  tokenHash?: string;
  /** Name of the user or the token, for the audit log. */
  by: string;
  scopes: string[];
  days: number;
}

/** What the user who allows a login gives its token. */
export interface LoginAnswer extends LoginApproval {
  /** The sign-in of the user. Its key is sealed for the public key of the program. */
  signIn?: SealedSignIn;
}

/** A program that waits for a user to allow it to sign in. */
export interface LoginRequestRecord {
  /** SHA-256 of the program's secret, in hexadecimal: nothing that is stored gets the token. */
  hash: string;
  /** What the user compares. */
  code: string;
  /** What the program says that it is. */
  client: string;
  address: string;
  /** What is counted as one client. */
  network: string;
  /** UTC. */
  createdAt: string;
  /** UTC. */
  expiresAt: string;
  state: 'pending' | 'approved' | 'denied' | 'used';
  /** Absent unless a user allowed it. */
  approval?: LoginApproval;
  /** With it, something is sealed for the program, whose secret is the private key. */
  publicKey: string;
  /** As the user gave it, who allowed it. */
  signIn?: SealedSignIn;
}

/** Numbers of requests that have not expired. */
export interface LoginCounts {
  /** Of programs that did not get their token yet. */
  waiting: number;
  /** Of those that got it, or were denied. */
  ended: number;
}

/** Programs that wait for a user. */
export interface LoginStore {
  /**
   * Adds a request after it has deleted expired ones. Above `max`, it deletes those that ended, then the oldest ones. Does
   * nothing if the network has `maxOfNetwork`, the site of networks whose names begin with a text has its `max`, or
   * another request has the code.
   */
  addLoginRequest(
    request: LoginRequestRecord,
    limits: { max: number; maxOfNetwork: LoginCounts; site?: { networks: string; max: LoginCounts } },
  ): Promise<'added' | 'too-many' | 'same-code'>;
  /** Returns also an expired request. */
  loginRequest(by: { hash: string } | { code: string }): Promise<LoginRequestRecord | undefined>;
  /** Allows or denies a request that nobody answered, and that has not expired. Returns whether it did. */
  answerLogin(code: string, answer: LoginAnswer | 'denied', act: Act): Promise<boolean>;
  /** Adds the token of an approved request that has not expired, once. Returns whether it did. */
  useLogin(
    request: { hash: string; at: string },
    token: { record: TokenRecord; hash: string; origin: RequestOrigin },
  ): Promise<boolean>;
}
