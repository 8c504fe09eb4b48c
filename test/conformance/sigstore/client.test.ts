import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startSigstore } from '../../interop/sigstore-stand-in.js';
import { temporaryFolder } from '../../running.js';
import { casesIn, mustBeRefused, runClient, verifyCase } from './folders.js';
import { makeCases } from './made-cases.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

const REFUSED = [2, 4];

/** Every case of a folder, by the file of its artifact. */
function checkCases(cases: string) {
  it.for(casesIn(cases))('%s', async (name) => {
    const { code, output } = await verifyCase(cases, name);
    const refused = mustBeRefused(name);
    expect(refused ? REFUSED : [0], output).toContain(code);
    expect(output).not.toContain('failure of krmhub');
  });
}

const made = makeCases(folder);

describe('the client of the conformance suite, with our own bundles', () => {
  checkCases(made);

  it.for(['good', 'message', 'message-by-other-key_fail'])('%s, by its digest', async (name) => {
    const digest = createHash('sha256')
      .update(readFileSync(path.join(folder, 'a.txt')))
      .digest('hex');
    const { code, output } = await verifyCase(made, name, `sha256:${digest}`);
    expect(code, output).toBe(mustBeRefused(name) ? 4 : 0);
  });

  it('signs with an identity, and verifies the result', async () => {
    const sigstore = await startSigstore();
    try {
      const at = (name: string) => path.join(folder, name);
      writeFileSync(at('signing-config.json'), sigstore.signingConfig);
      writeFileSync(at('trusted-root.json'), sigstore.trustedRoot);
      const identity = { subject: 'somebody@example.com', issuer: 'https://accounts.example.com' };
      const trust = ['--trusted-root', at('trusted-root.json')];
      const services = ['--signing-config', at('signing-config.json')];
      const token = ['--identity-token', sigstore.token(identity)];
      const statement = at('statement.json');
      const digest = { sha256: createHash('sha256').update('hello\n').digest('hex') };
      writeFileSync(
        statement,
        JSON.stringify({ subject: [{ digest }], predicateType: 'https://example.com/t', predicate: {} }),
      );
      for (const [flags, file] of [
        [[], at('a.txt')],
        [['--in-toto'], statement],
      ] as const) {
        const bundle = ['--bundle', at('signed.json')];
        const signed = await runClient([
          'sign-bundle',
          ...flags,
          ...token,
          ...bundle,
          ...trust,
          ...services,
          file,
        ]);
        expect(signed.code, signed.output).toBe(0);
        const verify = (subject: string) =>
          runClient([
            'verify-bundle',
            ...bundle,
            '--certificate-identity',
            subject,
            '--certificate-oidc-issuer',
            identity.issuer,
            ...trust,
            at('a.txt'),
          ]);
        const verified = await verify(identity.subject);
        expect(verified.code, verified.output).toBe(0);
        expect((await verify('nobody@example.com')).code).toBe(4);
      }
    } finally {
      await sigstore.close();
    }
  });
});

const published = process.env.KRMHUB_TEST_SIGSTORE_CONFORMANCE;
const whyNot = published === undefined ? ' (skipped: KRMHUB_TEST_SIGSTORE_CONFORMANCE is not set)' : '';

describe.skipIf(published === undefined)(`with the bundles of the suite${whyNot}`, () => {
  if (published === undefined) it('needs them', () => undefined);
  else checkCases(published);
});
