import { KrmhubError } from '@krmhub/schema';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import { type Io, paint, write } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import type { ArtifactOptions } from '../registry/release-artifact.js';
import type { SignerOptions } from './expected-signer.js';
import type { JudgedBundle } from './judge-bundle.js';
import type { SigningTarget } from './signing-target.js';

export interface VerifyOptions extends SignerOptions, ArtifactOptions {
  bundle?: string;
  trustedRoot?: string;
  type?: string;
  policy?: string;
  output: OutputFormat;
}

export function checkBundleOption(target: SigningTarget, { bundle }: VerifyOptions): void {
  if (target.kind !== 'reference' || bundle === undefined) return;
  throw new KrmhubError('usage', '--bundle applies only to files and digests', {
    hint: `Verify the digest of the artifact: krmhub verify ${target.reference.digest ?? 'sha256:…'} --bundle ${shellWord(bundle)}`,
  });
}

export async function printBundle(io: Io, { source, kind, release, checks }: JudgedBundle): Promise<void> {
  const what = release === undefined ? kind : `${kind}, ${release}`;
  const lines = checks.map(({ check, passed, message }) => {
    const word = paint(io, io.stdout, passed ? 'green' : 'red', passed ? 'ok' : 'FAILED');
    return `${word}${' '.repeat(passed ? 6 : 2)}${check.padEnd(12)}${escapeControls(message)}`;
  });
  await write(io.stdout, `${[escapeControls(`${source} (${what})`), ...lines].join('\n')}\n`);
}
