import { compilePattern, describeSigner, issuerDangers, patternDangers } from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { KrmhubError, MAX_KEY_LENGTH, type PublicKey, readPublicKey } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import type { Signer } from '@krmhub/signing';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';

export interface SignerOptions {
  key?: string;
  identity?: string;
  identityPattern?: string;
  issuer?: string;
}

/** The signer that a signature must come from. */
export interface ExpectedSigner {
  keys: PublicKey[];
  /** Compares a signer with the expected one; the message states the result. */
  judge(signer: Signer): { passed: boolean; message: string };
}

/**
 * Builds the expected signer from options, and warns of one that is too wide. Throws `usage` where they name no signer,
 * or two.
 */
export async function expectedSigner(
  io: Io,
  { key, identity, identityPattern, issuer }: SignerOptions,
): Promise<ExpectedSigner> {
  const byIdentity = [identity, identityPattern, issuer].some((option) => option !== undefined);
  if (key !== undefined && byIdentity) {
    throw usageError('--key cannot be combined with --identity, --identity-pattern, or --issuer');
  }
  if (key !== undefined) return expectedKey(io, key);
  if (!byIdentity) throw usageError('cannot verify: the expected signer is missing');
  if (identity !== undefined && identityPattern !== undefined) {
    throw usageError('--identity cannot be combined with --identity-pattern');
  }
  if (issuer === undefined || issuer === '')
    throw usageError('--issuer is required with --identity and --identity-pattern');
  for (const { message } of issuerDangers(issuer)) await printWarning(io, escapeControls(message));
  if (identity !== undefined && identity !== '') {
    return expectedIdentity(issuer, identity, (subject) => subject === identity);
  }
  if (identityPattern === undefined)
    throw usageError('--identity or --identity-pattern is required with --issuer');
  const matches = subjectMatcher(identityPattern);
  for (const { message } of patternDangers(identityPattern, matches)) {
    await printWarning(io, escapeControls(message));
  }
  return expectedIdentity(issuer, identityPattern, matches);
}

async function expectedKey(io: WorkingFolder, name: string): Promise<ExpectedSigner> {
  const text = new TextDecoder().decode(await readFileUpTo(io, name, MAX_KEY_LENGTH));
  const expected = readPublicKey(text, name);
  return {
    keys: [expected],
    judge: (signer) =>
      signer.type === 'key' && signer.fingerprint === expected.fingerprint
        ? { passed: true, message: `signed by the key ${name}` }
        : { passed: false, message: `signed by ${describeSigner(signer)}, expected the key ${name}` },
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
        return { passed: true, message: `signed by ${describeSigner(signer)}` };
      }
      const message = `signed by ${describeSigner(signer)}, expected ${wanted} (${issuer})`;
      return { passed: false, message };
    },
  };
}

function subjectMatcher(pattern: string): (subject: string) => boolean {
  if (!pattern.startsWith('^') || !pattern.endsWith('$')) {
    throw new KrmhubError('usage', `--identity-pattern ${pattern} must start with ^ and end with $`, {
      hint: `Without anchors, a pattern also matches names that an attacker chooses. Use --identity-pattern '^${pattern.replace(/^\^|\$$/g, '')}$'`,
    });
  }
  try {
    // Anchors the whole expression: in `^a|b$` each anchor covers only one alternative.
    const expression = compilePattern(`^(?:${pattern})$`);
    return (subject) => expression.matches(subject);
  } catch (cause) {
    throw new KrmhubError(
      'usage',
      `--identity-pattern ${pattern} is not a valid RE2 expression: ${errorMessage(cause)}`,
      {
        hint: 'Remove backreferences and look-arounds, which RE2 does not support.',
        cause,
      },
    );
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function usageError(message: string): KrmhubError {
  return new KrmhubError('usage', message, {
    hint: 'Use --key FILE.pub, or --identity NAME with --issuer URL. To trust a signer permanently, run: krmhub trust add',
  });
}
