import { compilePattern, describeSigner } from '@krmhub/catalog';
import { KrmhubError, MAX_KEY_LENGTH, type PublicKey, readPublicKey } from '@krmhub/schema';
import type { Signer } from '@krmhub/signing';
import { readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';

export interface SignerOptions {
  key?: string;
  identity?: string;
  identityPattern?: string;
  issuer?: string;
}

/** Who must have signed. */
export interface ExpectedSigner {
  keys: PublicKey[];
  /** What is said of a signer that is the one, and why another one is refused. */
  judge(signer: Signer): { passed: boolean; message: string };
}

/** Throws `usage` where it is not said who, or twice. */
export async function expectedSigner(
  io: Pick<Io, 'cwd'>,
  { key, identity, identityPattern, issuer }: SignerOptions,
): Promise<ExpectedSigner> {
  const byIdentity = [identity, identityPattern, issuer].some((option) => option !== undefined);
  if (key !== undefined && byIdentity) {
    throw usage('a key and an identity are named, and a signature is by one of them');
  }
  if (key !== undefined) return expectedKey(io, key);
  if (!byIdentity) throw usage('it is not said who must have signed');
  if (identity !== undefined && identityPattern !== undefined) {
    throw usage('both --identity and --identity-pattern are there, which say the same thing');
  }
  if (issuer === undefined || issuer === '')
    throw usage('the issuer is missing, who says whose identity it is');
  if (identity !== undefined && identity !== '') {
    return expectedIdentity(issuer, identity, (subject) => subject === identity);
  }
  if (identityPattern === undefined) throw usage('there is an issuer and no identity');
  return expectedIdentity(issuer, identityPattern, patternOf(identityPattern));
}

async function expectedKey(io: Pick<Io, 'cwd'>, name: string): Promise<ExpectedSigner> {
  const text = new TextDecoder().decode(await readFileUpTo(io, name, MAX_KEY_LENGTH));
  const expected = readPublicKey(text, name);
  return {
    keys: [expected],
    judge: (signer) =>
      signer.type === 'key' && signer.fingerprint === expected.fingerprint
        ? { passed: true, message: `the key ${name}` }
        : { passed: false, message: `it is signed by ${describeSigner(signer)}, not by the key ${name}` },
  };
}

function expectedIdentity(
  issuer: string,
  wanted: string,
  matches: (subject: string) => boolean,
): ExpectedSigner {
  return {
    keys: [],
    judge: (signer) => {
      if (signer.type === 'identity' && signer.issuer === issuer && matches(signer.subject)) {
        return { passed: true, message: describeSigner(signer) };
      }
      const message = `it is signed by ${describeSigner(signer)}, not by ${wanted} (${issuer})`;
      return { passed: false, message };
    },
  };
}

function patternOf(pattern: string): (subject: string) => boolean {
  if (!pattern.startsWith('^') || !pattern.endsWith('$')) {
    throw new KrmhubError('usage', 'the pattern has to begin with ^ and end with $', {
      hint: 'A pattern that matches anywhere also matches the names that somebody else gives to what is theirs.',
    });
  }
  try {
    // The whole once more: in `^a|b$` each sign is of one alternative only.
    const expression = compilePattern(`^(?:${pattern})$`);
    return (subject) => expression.matches(subject);
  } catch (cause) {
    throw new KrmhubError('usage', `the pattern is not in the syntax of RE2: ${reasonOf(cause)}`, {
      hint: 'It has neither back references nor look-around.',
      cause,
    });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function usage(message: string): KrmhubError {
  return new KrmhubError('usage', message, {
    hint: 'Say --key FILE.pub, or --identity WHO (or --identity-pattern) with --issuer URL; or for good: krmhub trust add.',
  });
}
