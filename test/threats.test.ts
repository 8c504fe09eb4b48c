import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './running.js';

/** The tests of each row of the table in docs/threats.md: files, and titles of tests in them. */
const TESTS: Record<string, Record<string, readonly string[]>> = {
  'An attacker publishes with a stolen token': {
    'apps/registry/src/publish/trust/bundles.test.ts': [
      'refuses %s',
      'refuses a later release without a signature',
      'keeps a function signed by its first signer, whose key no policy names',
    ],
    'apps/registry/src/publish/hostile-publishers.test.ts': [
      'spellings, cases and pre-releases do not bypass a policy',
    ],
  },
  'A signed 1.0.0 is served as 9.9.9, or as another function': {
    'apps/cli/src/commands/verify-names.test.ts': [
      'rejects a signed release that is served as another release',
      'rejects a signed function that is served in the repository of another function',
      'rejects a plain signature without a release under a version tag, and says so for other tags',
    ],
  },
  'A README or another file next to a signed definition is replaced': {
    'apps/cli/src/commands/verify-names.test.ts': [
      'rejects an unsigned manifest with a signed definition',
      'reports the verified files of a pull if only the definition is signed',
    ],
    'apps/cli/src/commands/policy.test.ts': [
      'shows that no signature covers the README of an unsigned release',
    ],
    'apps/registry/src/publish/hostile-publishers.test.ts': [
      'the signature does not cover a README that the publisher did not sign',
    ],
  },
  'The registry, a mirror, or a proxy changes bytes': {
    'test/end-to-end/trusted-pull.test.ts': [
      'is refused if a mirror serves other bytes with the signature of the release',
    ],
    'apps/cli/src/commands/catalog-verify.test.ts': ['another %s than was signed'],
    'packages/oci/src/client.test.ts': ['a faulty registry'],
  },
  'An old catalog is served to hide a fixed release (rollback, freeze)': {
    'apps/cli/src/commands/catalog-verify.test.ts': [
      'an older snapshot as the newest, but not with --snapshot',
      'an expired snapshot as the newest, but not with --snapshot',
      'what is older than a new machine requires with %s',
    ],
    'apps/cli/src/commands/pinned-catalog.test.ts': [
      'refuses an older snapshot at another address: it is kept by key and name',
    ],
    'apps/cli/src/commands/snapshot-limits.test.ts': [
      'refuses an older snapshot than --min-serial, and an older signature than --max-age',
      'refuses them by the trust file, without an option',
      'of an older snapshot is refused, also if nothing but it is read',
    ],
  },
  'A pinned catalog is read by another command, URL, or format': {
    'packages/catalog/src/policy/catalog-url.test.ts': ['has one identity, also as %s'],
    'apps/cli/src/commands/pinned-catalog.test.ts': [
      'is refused with exit code 4 if another key signed it: %s',
      'refuses a catalog over OCI that another key signed',
    ],
  },
  'A registry or a mirror serves another of its catalogs under a pinned address, or under that of a source': {
    'packages/catalog/src/upstream/evaluate-copy.test.ts': [
      'is bound to the name of its address: another catalog of the key is refused, and then the right one accepted',
    ],
    'apps/cli/src/commands/catalog/build.test.ts': [
      'refuses another catalog of the same key at the address of a catalog, unless the recipe names it',
    ],
    'apps/cli/src/commands/pinned-catalog.test.ts': [
      'refuses another catalog of the same key if it names the catalog',
      'refuses another catalog as a source over HTTP',
      'warns if it does not, and prints of which catalog the snapshot is',
    ],
    'apps/cli/src/commands/catalog-verify.test.ts': ['a valid bundle of another catalog'],
  },
  'A definition is disguised: escapes in its kind, another media type, a list': {
    'apps/cli/src/signatures/trust/read-subject.test.ts': [
      'is a definition whose kind is written with %s, whatever its type says',
      'cannot be read where a file that tools read as YAML has %s',
    ],
  },
  'Entries of two catalogs are mixed': {
    'apps/cli/src/commands/catalog-verify.test.ts': ['another %s than was signed'],
    'packages/signing/src/verify-source.test.ts': ['rejects bytes with another subject name'],
  },
  'A bundle is missing, empty, `{}`, `null`, truncated, or for other bytes': {
    'apps/registry/src/publish/trust/bundles.test.ts': ['refuses %s'],
    'apps/registry/src/oci/pushed-bundle.test.ts': [
      'does not store a bundle that is not evidence for the release',
    ],
    'packages/signing/src/verify.test.ts': ['is rejected: %s'],
    'apps/cli/src/signatures/find-bundles.test.ts': ['finds a bundle: %s', 'is refused where %s'],
    'test/end-to-end/trusted-pull.test.ts': ['is refused without a bundle'],
  },
  'An untrusted signer signs a release': {
    'packages/consume/src/trust/judge-release.test.ts': ['refuses %s'],
    'apps/registry/src/publish/trust/bundles.test.ts': [
      'adds a later attestation once, and refuses a signature by an unknown signer',
    ],
    'apps/registry/src/oci/pushed-bundle.test.ts': [
      'is not published with a bundle by a key that cannot be identified, %s',
    ],
  },
  'A test report is invented, or used for another release': {
    'apps/registry/src/publish/test-reports.test.ts': [
      'is refused with %s',
      'is verified if a policy trusts the signer, and not trusted if the policy names another',
    ],
    'apps/cli/src/commands/test-release.test.ts': [
      'does not attach the report of one release to another, or to another function',
      'attaches a report of failures too, which does not verify',
    ],
  },
  'An attacker adds bundles to a release, or before its tag is pushed': {
    'apps/registry/src/oci/pushed-bundle.test.ts': [
      'is published despite invalid bundles that others attached',
      'is published despite more bundles than are read',
      'is not pinned to a stranger whose bundle came before its tag',
      'is pinned to its owner, whatever a stranger pushed before its tag',
      'takes no referrer from a publisher of another group',
    ],
    'apps/registry/src/publish/hostile-publishers.test.ts': [
      'a token without a key cannot prevent a release from being signed again',
    ],
  },
  'An attacker hides the signature of a snapshot among other bundles, or deletes it': {
    'apps/registry/src/oci/snapshot-referrers.test.ts': [
      'is refused if there are many, from any number of clients at a time, except again',
      'cannot be deleted, also by an administrator',
      'is first and once in the list, with and without a filter, whatever others pushed before',
    ],
    'apps/cli/src/signatures/find-bundles.test.ts': [
      'finds a bundle that a long list under the fallback tag would hide',
    ],
  },
  'A publisher deletes evidence': {
    'apps/registry/src/publish/hostile-publishers.test.ts': [
      'evidence survives untagged collection and deletes of manifests and blobs',
    ],
    'apps/registry/src/oci/pushed-bundle.test.ts': [
      'accepts later evidence, refuses an untrusted signer, and protects its evidence from deletion',
      'does not lose a signature that another publisher deletes before its tag',
    ],
  },
  'A CI repository is deleted, and another person registers its name and signs': {
    'apps/registry/src/publish/trust/source-policies.test.ts': [
      'accepts it, and names every claim that is another one',
      'does not have the pinned signer of the former one, even after a takedown',
    ],
  },
  'One stolen key or one changed workflow is enough to release': {
    'apps/registry/src/publish/trust/source-policies.test.ts': [
      'accepts a release that they signed together, and shows them',
      'refuses a release without them, and accepts one with all',
    ],
  },
  'A release is taken down so that another signer can take over': {
    'apps/registry/src/publish/takedown/pinned-signers.test.ts': [
      'stays required where no release is left, and after a restart',
      'stays required of a tag that is pushed',
      'that is older than the release requires its signer by the record of takedowns',
    ],
  },
  'Fields of a definition differ only by case, so that tools read different groups': {
    'packages/catalog/src/plan/publish.test.ts': ['refuses two fields that differ only by case: %s'],
    'apps/cli/src/signatures/trust/read-subject.test.ts': [
      'finds a definition by fields in another case, as the JSON library of Go does: %j',
    ],
  },
  'An attacker publishes to a group that looks like another one': {
    'packages/catalog/src/plan/look-alike.test.ts': [
      '%s looks like %s',
      'are refused after %s in the domain, both ways',
    ],
    'apps/registry/src/publish/review-name.test.ts': [
      'is refused by HTTP, in a dry run, and by push, with the name that it looks like and the way out',
    ],
    'apps/registry/src/upstreams/refresher.test.ts': [
      'a source with a group that looks like one of the registry has a warning in the report and in the inputs',
    ],
  },
  'A publisher claims the name of someone else': {
    'test/end-to-end/claimed-publisher.test.ts': [
      'is not verified on any page',
      'is not listed above the owner',
    ],
  },
  'A token of one team publishes or yanks in the group of another': {
    'packages/catalog/src/access/access.test.ts': [
      'lets only the owner and its grants change an owned group',
    ],
    'apps/registry/src/owners/owner-claims.test.ts': [
      'belongs to the team that its domain names, and nobody else publishes in it',
    ],
  },
  'A token begins a group that belongs to nobody yet': {
    'packages/catalog/src/access/access.test.ts': [
      'lets a token begin a group only if it is open, or named without a wildcard',
    ],
    'apps/registry/src/routes/access.test.ts': ['is refused with the ways out, and each of them works'],
  },
  'A token begins a group of an upstream catalog, whose entries would then be refused': {
    'apps/registry/src/publish/review-name.test.ts': [
      'is refused, and waits for an administrator',
      'is published by the owner of the group, and with a token that names it',
    ],
  },
  'A domain changes hands after its team proved it': {
    'apps/registry/src/owners/owner-checks.test.ts': [
      'is checked every week, warns while the proof is missing, and ends after two weeks',
    ],
    'apps/registry/src/owners/owner-claims.test.ts': [
      'moves to another team with its proof, and ends with it',
    ],
  },
  'A client finds out what is private: by its name, a search, a count, a feed, or the OCI catalog': {
    'test/authorization/seen.test.ts': ['shows nobody what they may not see, and everybody what they may'],
    'test/authorization/registry-pairs.test.ts': ['tells nothing of what is %s, in any answer to %s'],
    'apps/registry/src/oci/hidden-repositories.test.ts': [
      'answers an anonymous client as an absent one: %s',
      'answers a token without the right as an absent one: %s',
    ],
    'test/contracts/readable-store.test.ts': ['takes the same reads for a page wherever something is hidden'],
    'test/contracts/hidden-words.test.ts': ['asks as often for a word that only hidden functions have: %s'],
  },
  'Text that people write names what is private: a recipe, a replacement, or a reason': {
    'packages/catalog/src/access/readable-recipe.test.ts': [
      'who reads a recipe may read what it names: %s %s',
      'a kind alone names nothing of a hidden group, with the group it does',
    ],
    'apps/registry/src/publish/set-lifecycle.test.ts': [
      'readers of what is %s are told of no replacement that is hidden from them: %s',
      'readers of what is %s are told of no upstream function that is only in a catalog which is %s',
    ],
  },
  'A refused request names the owner of a private group': {
    'apps/registry/src/owners/owner-claims.test.ts': [
      'names the owner of a group only to those who may read the group',
      'is told with a function to a token that may read only this function of the group',
      'is not told to who may not read the group, by whatever is refused',
    ],
  },
  'A catalog shows functions to readers who may not read them': {
    'packages/catalog/src/access/catalog-readers.test.ts': [
      'everybody who may read a catalog may read each function that it may contain',
    ],
    'apps/registry/src/catalogs/catalog-visibility.test.ts': [
      'contains only what everybody may read who may read it, at once when the rules change',
      'names what it leaves out only to actors who may read it, and its rows name nothing',
    ],
  },
  'A cache gives one user what another one may read, or after the right ended': {
    'test/authorization/hidden-pages.test.ts': [
      '%s is there, for nobody else',
      'ends with the right, whatever the client has',
    ],
    'apps/registry/src/oci/hidden-repositories.test.ts': [
      'is read by those with the right, and no cache may keep it',
    ],
  },
  'A client pretends to be in the internal network': {
    'apps/registry/src/http/client-address.test.ts': ['from %s with %j: %s', 'not through a proxy with %s'],
  },
  'Another site makes the browser of an administrator change access': {
    'test/authorization/pages.test.ts': ['%s refuses requests from another site'],
    'apps/registry/src/web/operate/access.test.ts': [
      'is applied only after its effects were shown for the same text',
    ],
  },
  'A user is tricked into signing in the device of an attacker, or a code is guessed': {
    'apps/registry/src/sign-in/device-login.test.ts': [
      'allows nothing by GET or HEAD, whatever the query',
      'refuses a form with %s',
      'refuses a form from another site, and from nobody',
      'is shown escaped',
      'cannot be guessed: wrong ones count as failed logins of who types them',
    ],
    'test/end-to-end/device-login.test.ts': ['opens no page of another origin'],
  },
  'The secret of such a login is used twice, late, or after the user lost the right': {
    'apps/registry/src/sign-in/device-login.test.ts': [
      'gets a personal token once, after its user has allowed it',
      'gets none when it has expired %s',
      'gets none if the user was suspended since',
      'lets one of several sessions answer',
      'allows a program as an administrator, for as long as the token is one',
    ],
    'test/contracts/login-store.ts': ['are answered and used by one of many that do so at once'],
  },
  'A link signs a user in to the account of an attacker, or a sign-in is stolen, replayed, or leads to another site':
    {
      'apps/registry/src/web/operate/provider-sign-in.test.ts': [
        'is refused: a link of somebody else signs nobody in (login CSRF)',
        'is refused a second time',
        'is refused with %s in its cookie',
        'never leads to %s afterwards',
        'is not begun by another site',
        'replaces the session that the browser has, which nobody else could plant',
      ],
      'apps/registry/src/sign-in/identity-provider.test.ts': [
        'sends what makes a code useless to others',
        'to another browser, whose flow has the same state',
      ],
    },
  'An ID token is forged, or is for another client, user, or time': {
    'apps/registry/src/sign-in/identity-provider.test.ts': [
      'an ID token is refused',
      'without a signature, or with one that the secret makes',
      'with a changed claim, or a key that the provider does not have',
      'is the one of the ID token',
    ],
    'apps/registry/src/sign-in/read-user-claims.test.ts': [
      'is the claim that the operator chose, and nothing else',
    ],
  },
  'A user keeps rights after leaving a group or the organization, or with a stolen cookie': {
    'apps/registry/src/sign-in/sign-ins.test.ts': [
      'loses the rights of a group within a minute, and gets those of another one',
      'ends within a minute for a user whom the provider no longer knows, on pages for everybody too',
      'a session continues for an hour after it was confirmed, and asks once a minute',
      'ends the session at once, and offers to sign out at the provider',
      'a suspended user is signed out at once, in all browsers',
    ],
  },
  'A user who left the organization keeps a personal token': {
    'apps/registry/src/sign-in/personal-tokens.test.ts': [
      'loses the rights of a group within a minute, and asks no more often',
      'is refused for good once the provider refuses the user',
      'tokens work for an hour after it confirmed them, and then wait for it',
      'a token never has rights older than a minute while the provider can be asked',
    ],
    'apps/registry/src/scim/scim-routes.test.ts': [
      'gives members the rights of teams at once, and takes them at once',
      'confirms users for as long as the directory manages them',
    ],
    'test/contracts/directory-store.ts': [
      'stay suspended by an administrator, whatever the directory says',
      'end their sessions as soon as they are not active',
    ],
  },
  'The token of a directory leaks, or a directory sends hostile requests': {
    'test/authorization/scim.test.ts': [
      'lets a token for a directory do nothing else',
      'creates tokens for directories that have no other scope, and no team',
    ],
    'apps/registry/src/scim/scim-routes.test.ts': [
      'change nothing by names of JavaScript',
      'do not fail, whatever the operations are',
    ],
  },
  'A workflow of a stranger, of a pull request, or of a repository that took over a name publishes': {
    'apps/registry/src/trusted-publishers/exchange-token.test.ts': [
      'with %s',
      'pins the repository at its first use, so that another one of that name gets nothing',
    ],
    'packages/catalog/src/access/trusted-publishers/check-claims.test.ts': [
      'a run of %s is refused with %j',
      'does not match if any setting is another one, or the token says nothing of it',
    ],
  },
  'A token of a CI provider is used twice, or in another registry': {
    'apps/registry/src/trusted-publishers/exchange-token.test.ts': [
      'counts once, also with another spelling of its signature, and after a restart',
    ],
    'test/contracts/trusted-publisher-store.ts': [
      'exchange each token of a provider once, and are pinned by the first',
    ],
    'test/end-to-end/trusted-publishing.test.ts': [
      'gives a token to no registry that asks for that of another',
    ],
  },
  'A stolen token leaves a way to publish after it was revoked': {
    'test/authorization/changed-publishers.test.ts': [
      'are changed with %s as it may',
      'a session of an owner changes them on the page, and one that began with a token does not',
    ],
  },
  'An issuer or its keys are forged for the workflows of others': {
    'apps/registry/src/trusted-publishers/exchange-token.test.ts': [
      'with given keys counts for those keys alone',
    ],
    'packages/catalog/src/access/trusted-publishers/check-claims.test.ts': ['an issuer of %s: %s %s'],
  },
  'A leaked personal token is kept by making another one, or used after its user left': {
    'apps/registry/src/http/auth/personal-tokens.test.ts': [
      'never has more than the token that made it, and ends with it at the latest',
      'is personal, bounded by the rights of the user when it is used',
      'is refused while the user is suspended, and after 30 days without a sign-in',
    ],
  },
  'A copy of the database signs a user in at the identity provider': {
    'apps/registry/src/sign-in/personal-tokens.test.ts': ['are opened by nothing that is stored'],
    'apps/registry/src/sign-in/sign-ins.test.ts': ['has its tokens encrypted for the browser alone'],
    'apps/registry/src/sign-in/program-key.test.ts': ['can be read by the program alone'],
  },
  'A leaked token is used': {
    'test/authorization/operations.test.ts': [
      'stops working at once when it is revoked, reported or expired',
    ],
    'test/authorization/revoked-while-waiting.test.ts': ['%s refuses a token that is revoked while it waits'],
    'test/authorization/revoked-while-checked.test.ts': ['does not store %s'],
  },
  'A key is stolen': {
    'apps/registry/src/publish/trust/bundles.test.ts': [
      'trusts no signature of a revoked key, whenever it was made',
      'accepts nothing more from a revoked key, though it signed the function before',
    ],
    'test/end-to-end/trusted-pull.test.ts': ['refuses a signer that is expired, not yet valid, or revoked'],
  },
  "An attacker with the registry's disk signs snapshots": {
    'apps/registry/src/catalogs/sign/key-files.test.ts': [
      'are readable by their owner only, and are read as written',
      'are rejected if all accounts can read one',
    ],
    'test/end-to-end/signed-snapshots.test.ts': [
      'rotates its key while it serves: both are listed, and only clients that pin the new one continue',
    ],
  },
  'A log entry, timestamp, or certificate of another signature is reused': {
    'test/end-to-end/reused-evidence.test.ts': [
      'is refused with the %s of another signature',
      'is refused if its %s was not valid at that time',
      'is refused if another instance made it',
    ],
    'packages/signing/src/verify.test.ts': [
      'of the kind %s are verified',
      'is rejected: an invalid timestamp, or one of an unknown authority',
    ],
  },
  'The files of the command line are replaced, on the registry or on your machine': {
    'apps/registry/src/web/install/install.test.ts': [
      'are not offered if the list has another digest or none, and the page says so',
      'are not sent after they changed',
    ],
    'apps/cli/src/executable/unpack-program.test.ts': [
      'is unpacked again where there is %s',
      'is not in a cache with %s',
    ],
  },
  'A command names the registry of an attacker, or a proxy reads the connection': {
    'apps/cli/src/registry/connection.test.ts': [
      '%s sends KRMHUB_TOKEN to no other registry than KRMHUB_REGISTRY',
      'sends no token to another machine without TLS, unless KRMHUB_PLAIN_HTTP has its name',
    ],
    'apps/cli/src/commands/login.test.ts': ['sends a saved token only to its registry'],
    'packages/api/src/client.test.ts': [
      'is not sent with reads that need none, but with lists, which have what the reader may see',
    ],
    'test/end-to-end/sent-credentials.test.ts': [
      'goes to no other origin: %s',
      'follows a redirect to the same origin only',
      'stays with TLS, also if the server redirects to the same host without it',
      'does not go to another machine without TLS, unless the user allows it',
    ],
    'packages/sources/src/http/redirects.test.ts': [
      'that are sent only if the server asks are not sent with a read that needs none',
    ],
  },
  'Another user of the same cache, or a job with another token, reads what is private, with its digest from a lock file':
    {
      'test/end-to-end/private-documents.test.ts': [
        'is cached for the actor who read it, and for no one else',
        'is removed after the server refuses it to its reader with %i',
        'that another server has, for who was redirected there, is cached for them alone',
        'get only what the server gave to everyone, or to them and did not refuse since',
        'is removed also where a restored cache has it, which another machine wrote',
        'is in one part with the artifacts of its server',
      ],
      'test/end-to-end/refused-credentials.test.ts': [
        'is gone after %s was refused with a token that was revoked',
        'is gone after %s was refused to a reader who may no longer read it',
      ],
      'test/end-to-end/private-catalogs.test.ts': [
        'are not run from the cache of another actor, whatever the lock file pins',
      ],
    },
  'Another job writes the cache that a pipeline restores': {
    'apps/cli/src/resolve/planted-cache.test.ts': [
      'a planted file of the kind %s does not change what %s has',
    ],
    'packages/consume/src/cache/cache.test.ts': [
      'with %s are removed, and never returned',
      'that were written on another machine count only where nothing else is known',
      'that were changed, moved, or are of an earlier version are not used',
      'removes nothing behind the link %s, which a restored cache may have',
    ],
    'apps/cli/src/executable/unpack-program.test.ts': [
      'is unpacked again where a cache of another machine was restored, with changed files and an own marker',
    ],
  },
  'An OCI registry points or redirects to a token service of an attacker': {
    'packages/oci/src/auth.test.ts': ['%s: sends none to %s'],
    'packages/oci/src/client.test.ts': [
      'is not sent to a token service on another host: %j',
      'is not sent where the token service of the registry redirects to',
      'is not sent to other hosts after a redirect or for an upload',
      'sends no credentials back to the registry where another host chose the target',
      'does not log in for a target that another host chose',
    ],
  },
  'A script that a visitor tries on a page attacks the page, the registry, or other sites': {
    'test/browser/try.test.ts': [
      'has no network, no storage, no other worker, and no way into the page',
      'leaves nothing for the next run',
      'runs no script with other bytes than the release has',
      'ends a function that does not end by itself, and the page stays usable: %s',
    ],
  },
  'An attacker with a stolen administrator token hides what it did': {
    'test/authorization/operations.test.ts': [
      'has a row of every operation that changed something, with its request, and of refused ones',
    ],
  },
  'An attacker with the database changes the audit log': {
    'test/contracts/audit-store.ts': ['has a chain that shows each change of a row'],
    'apps/registry/src/routes/audit.test.ts': ['deletes old rows, and logs the head'],
  },
  'Refused requests fill the audit log': {
    'apps/registry/src/routes/audit.test.ts': [
      'of a token has a limited number of rows in an hour, then a count',
      'without a known token is counted by network, and so are networks above a limit',
    ],
  },
  'Secrets leak to logs or arguments': {
    'apps/registry/src/http/auth/access.test.ts': [
      'keeps secrets out of the log',
      'reports why a token is refused, without showing it',
    ],
    'packages/signing/src/private-key.test.ts': ['reports a wrong password without printing it'],
    'packages/schema/src/diagnostics/hide-passwords.test.ts': ['are hidden in %s'],
    'apps/cli/src/commands/url-passwords.test.ts': ['is printed by no command, wherever the URL is'],
    'apps/cli/src/io/print.test.ts': ['is not in %s'],
    'apps/cli/src/commands/sign.test.ts': [
      'are reported if they are missing, invalid, or empty, without printing them',
    ],
    'test/threats.test.ts': ['take no secret as an argument'],
  },
};

const page = readFileSync(path.join(root, 'docs/threats.md'), 'utf8');
const rows = [...page.matchAll(/^\| (.+?) \| .+ \|$/gm)]
  .map(([, threat]) => threat!)
  .filter((threat) => threat !== 'threat');

describe('the threats of docs/threats.md', () => {
  it('are those that have tests here', () => {
    expect(rows.length).toBeGreaterThan(10);
    expect(Object.keys(TESTS)).toEqual(rows);
  });

  it.each(Object.entries(TESTS))('have tests that exist: %s', (_, files) => {
    const named = Object.entries(files).flatMap(([file, titles]) => titles.map((title) => ({ file, title })));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ file, title }) => !hasTest(file, title))).toEqual([]);
  });

  it('fail here if a test is renamed or skipped', () => {
    expect(isTitle("  it('does this', () => {", 'does this')).toBe(true);
    expect(isTitle("  it.each(CASES)(\n    'does %s',", 'does %s')).toBe(true);
    expect(isTitle('  ])("it\'s done", () => {', "it's done")).toBe(true);
    for (const text of [
      "it.skip('does this', () => {",
      "expect('does this')",
      '// does this',
      "it('does that'",
    ]) {
      expect(isTitle(text, 'does this')).toBe(false);
    }
  });
});

describe('the commands', () => {
  it('take no secret as an argument', () => {
    const commands = readFileSync(path.join(root, 'docs/commands.md'), 'utf8');
    const options = [...commands.matchAll(/--([a-z-]+) <([a-z-]+)>/g)].map(([, name, value]) => ({
      name,
      value,
    }));
    expect(options.length).toBeGreaterThan(50);
    const secret = options.filter(({ name }) => /password|passphrase|secret|token|credential/.test(name!));
    expect(secret.filter(({ value }) => value !== 'file')).toEqual([]);
    expect(commands).not.toMatch(/^Usage: .*<(?:token|password|secret)>/m);
  });
});

function hasTest(file: string, title: string): boolean {
  const name = path.join(root, file);
  return existsSync(name) && isTitle(readFileSync(name, 'utf8'), title);
}

/** Reports whether a text is the first argument of `it`, of `describe`, or of one of their tables. */
function isTitle(source: string, title: string): boolean {
  const text = title.replaceAll("'", "\\'").replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const plain = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?:(?<![.\\w])(?:it|describe)|[\\])])\\(\\s*(?:'${text}'|"${plain}"|\`${plain}\`)`).test(
    source,
  );
}
