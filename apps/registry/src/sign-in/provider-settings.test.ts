import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../server/config.js';
import { readConfigFile } from '../server/config-file.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-oidc-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string) => {
  writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};

const GOOD = {
  KRMHUB_PUBLIC_URL: 'https://krm.example.com',
  KRMHUB_OIDC_ISSUER: 'https://sso.example.com/realms/all',
  KRMHUB_OIDC_CLIENT_ID: 'krmhub',
  KRMHUB_OIDC_CLIENT_SECRET: 'hunter2',
};

function problems(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    return (error as Error).message.split('\n  ').slice(1);
  }
  throw new Error('accepted');
}

describe('the settings of a provider', () => {
  it('have defaults', () => {
    expect(readConfig(GOOD).signIn).toEqual([
      {
        id: 'sso-example-com',
        name: 'sso.example.com',
        issuer: 'https://sso.example.com/realms/all',
        clientId: 'krmhub',
        clientSecret: 'hunter2',
        groupsClaim: 'groups',
        subjectClaim: 'sub',
      },
    ]);
    expect(readConfig({ KRMHUB_OIDC_ISSUER: '' }).signIn).toEqual([]);
  });

  it('can all be set', () => {
    const { KRMHUB_OIDC_CLIENT_SECRET: _, ...others } = GOOD;
    const [provider] = readConfig({
      ...others,
      KRMHUB_OIDC_CLIENT_SECRET_FILE: write('secret', 'from a file\n'),
      KRMHUB_OIDC_SCOPES: 'openid  groups,offline_access',
      KRMHUB_OIDC_GROUPS_CLAIM: 'https://example.com/groups',
      KRMHUB_OIDC_SUBJECT_CLAIM: 'oid',
      KRMHUB_OIDC_NAME: 'Example SSO (Köln)',
    }).signIn;
    expect(provider).toMatchObject({
      id: 'example-sso-ko-ln',
      name: 'Example SSO (Köln)',
      clientSecret: 'from a file',
      scopes: ['openid', 'groups', 'offline_access'],
      groupsClaim: 'https://example.com/groups',
      subjectClaim: 'oid',
    });
  });

  it('can be in the configuration file', () => {
    const text = `publicUrl: https://krm.example.com
oidcIssuer: https://sso.example.com
oidcClientId: krmhub
oidcClientSecret: hunter2
oidcScopes: [openid, groups]
`;
    const { signIn } = readConfig({}, {}, readConfigFile(Buffer.from(text), 'krmhub.yaml'));
    expect(signIn).toMatchObject([{ issuer: 'https://sso.example.com', scopes: ['openid', 'groups'] }]);
  });

  it.each(['http://localhost:8080/realms/a', 'http://127.0.0.1:1', 'http://[::1]:1'])(
    'may be on this machine: %s',
    (issuer) => {
      expect(readConfig({ ...GOOD, KRMHUB_OIDC_ISSUER: issuer }).signIn[0]?.issuer).toBe(issuer);
    },
  );

  it.each([
    ['http://sso.example.com', 'is not an https URL; http is only for a provider on this machine'],
    ['http://127.0.0.1.example.com', 'is not an https URL'],
    ['sso.example.com', 'is not a URL without user, query, and fragment'],
    ['https://user:secret@sso.example.com', 'is not a URL without user'],
    ['https://sso.example.com/?tenant=1', 'is not a URL without user'],
    ['https://sso.example.com/a/.well-known/openid-configuration', 'use https://sso.example.com/a'],
    ['javascript:alert(1)', 'is not'],
    ['https://sso.example.com/\u202e', 'KRMHUB_OIDC_ISSUER'],
  ])('refuse the issuer %s', (issuer, message) => {
    expect(problems({ ...GOOD, KRMHUB_OIDC_ISSUER: issuer })).toEqual([expect.stringContaining(message)]);
  });

  it('are reported all at once, without the secret', () => {
    const found = problems({
      KRMHUB_OIDC_ISSUER: 'http://sso.example.com',
      KRMHUB_OIDC_CLIENT_SECRET: 'hunter2\u0007',
      KRMHUB_OIDC_CLIENT_SECRET_FILE: '/nowhere',
      KRMHUB_OIDC_SCOPES: 'groups',
      KRMHUB_OIDC_NAME: '???',
    });
    expect(found).toEqual([
      expect.stringMatching(/^KRMHUB_OIDC_ISSUER: "http:\/\/sso.example.com" is not an https URL/),
      expect.stringMatching(/^KRMHUB_OIDC_CLIENT_ID: is not set/),
      expect.stringMatching(/^KRMHUB_OIDC_CLIENT_SECRET_FILE: the secret itself is set too/),
      expect.stringMatching(/^KRMHUB_OIDC_SCOPES: "groups" does not include the scope openid/),
      expect.stringMatching(/^KRMHUB_OIDC_NAME: "\?\?\?" is not a name/),
      expect.stringMatching(/^KRMHUB_OIDC_ISSUER: set KRMHUB_PUBLIC_URL too/),
    ]);
    expect(found.join()).not.toContain('hunter2');
  });

  it('name what is missing', () => {
    expect(problems({ KRMHUB_PUBLIC_URL: 'https://krm.example.com', KRMHUB_OIDC_NAME: 'x' })).toEqual([
      expect.stringMatching(/^KRMHUB_OIDC_ISSUER: is not set/),
      expect.stringMatching(/^KRMHUB_OIDC_CLIENT_ID: is not set/),
      expect.stringMatching(/^KRMHUB_OIDC_CLIENT_SECRET: is not set/),
    ]);
    expect(
      problems({ ...GOOD, KRMHUB_OIDC_CLIENT_SECRET: '', KRMHUB_OIDC_CLIENT_SECRET_FILE: '/nowhere' }),
    ).toEqual(['KRMHUB_OIDC_CLIENT_SECRET_FILE: cannot read /nowhere: no such file']);
    expect(
      problems({
        ...GOOD,
        KRMHUB_OIDC_CLIENT_SECRET: '',
        KRMHUB_OIDC_CLIENT_SECRET_FILE: write('empty', '\n'),
      }),
    ).toEqual([expect.stringMatching(/^KRMHUB_OIDC_CLIENT_SECRET_FILE: it is empty/)]);
  });
});

describe('a file of providers', () => {
  const PUBLIC = { KRMHUB_PUBLIC_URL: 'https://krm.example.com' };
  const two = `- issuer: https://sso.example.com
  name: Staff
  clientId: krmhub
  clientSecret: one
- issuer: https://partners.example.com
  clientId: krmhub
  clientSecretFile: ${path.join(folder, 'partners')}
  scopes: [openid, email]
`;

  it('has them in order', () => {
    write('partners', 'two\n');
    const { signIn } = readConfig({ ...PUBLIC, KRMHUB_OIDC_FILE: write('two.yaml', two) });
    expect(signIn).toMatchObject([
      { id: 'staff', clientSecret: 'one' },
      { id: 'partners-example-com', clientSecret: 'two', scopes: ['openid', 'email'] },
    ]);
  });

  it('is not used beside the settings of one', () => {
    write('partners', 'two\n');
    expect(problems({ ...GOOD, KRMHUB_OIDC_FILE: write('two.yaml', two) })).toEqual([
      'KRMHUB_OIDC_ISSUER: KRMHUB_OIDC_FILE is set too: move this provider to that file',
    ]);
  });

  it('has no two with one issuer or name', () => {
    write('partners', 'two\n');
    const twice = (change: (text: string) => string) =>
      problems({ ...PUBLIC, KRMHUB_OIDC_FILE: write('twice.yaml', change(two)) })[0];
    expect(twice((text) => text.replace('partners.', 'sso.'))).toContain('two providers have the issuer');
    expect(twice((text) => text.replace('Staff', 'partners.example.com'))).toContain(
      'two providers have the name',
    );
    expect(twice((text) => text.replace('Staff', 'Partners example com'))).toContain(
      'two providers have the name',
    );
  });

  it.each([
    ['', 'the file contains no document'],
    ['issuer: https://sso.example.com\n', 'expected a list of providers'],
    ['[]', 'expected a list of providers'],
    ['- x\n', ':1:3: expected a mapping'],
    ['- issuer: [a\n', 'wrong.yaml:'],
    ['- issuerUrl: https://sso.example.com\n', ':1:14: unknown field "issuerUrl"; did you mean issuer?'],
    ['- issuer: https://sso.example.com\n  clientId: 7\n', ':2:13: clientId: not a string'],
    [
      '- issuer: http://sso.example.com\n',
      'wrong.yaml:1:11: issuer: "http://sso.example.com" is not an https URL',
    ],
    ['- name: a\n', 'wrong.yaml: provider 1: clientId: is not set'],
  ])('is refused with its position: %j', (text, message) => {
    expect(problems({ ...PUBLIC, KRMHUB_OIDC_FILE: write('wrong.yaml', text) }).join('\n')).toContain(
      message,
    );
  });

  it('must exist', () => {
    expect(problems({ ...PUBLIC, KRMHUB_OIDC_FILE: '/nowhere' })).toEqual([
      'KRMHUB_OIDC_FILE: cannot read /nowhere: no such file',
    ]);
  });
});
