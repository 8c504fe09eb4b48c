import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseImageReference } from './image-reference.js';

interface Row {
  input: string;
  repository?: string;
  domain?: string;
  path?: string;
  tag?: string;
  digest?: string;
  err?: string;
  match?: boolean;
  subs?: string[];
  expected?: string;
  Reference: string;
  Equivalent: string;
  FullName: string;
  AmbiguousName: string;
  Domain: string;
  RemoteName: string;
}
type Tables = Record<string, Row[]> & { normalizedValid: string[]; normalizedInvalid: string[] };

const file = fileURLToPath(
  new URL('../../../../../shared/data/schema/imageref/distribution-reference.json', import.meta.url),
);
const present = existsSync(file);
const tables = present ? (JSON.parse(readFileSync(file, 'utf8')) as Tables) : undefined;
const rows = (name: string): Row[] => (tables as Record<string, Row[]> | undefined)?.[name] ?? [];

/** What Docker makes of a reference; the tables of distribution/reference speak in these terms. */
function normalized(
  text: string,
): { domain: string; path: string; tag?: string; digest?: string } | undefined {
  const reference = parseImageReference(text);
  if (!reference.ok) return undefined;
  const domain =
    reference.host === undefined || reference.host === 'index.docker.io' ? 'docker.io' : reference.host;
  const { repository } = reference;
  const path = domain === 'docker.io' && !repository.includes('/') ? `library/${repository}` : repository;
  return {
    domain,
    path,
    ...(reference.tag === undefined ? {} : { tag: reference.tag }),
    ...(reference.digest === undefined ? {} : { digest: reference.digest }),
  };
}

const full = (text: string): string | undefined => {
  const parts = normalized(text);
  if (parts === undefined) return undefined;
  const tag = parts.tag === undefined ? '' : `:${parts.tag}`;
  return `${parts.domain}/${parts.path}${tag}${parts.digest === undefined ? '' : `@${parts.digest}`}`;
};

/** The first segment of these tables is a domain even where nothing marks it as a host. */
const isExplicit = (domain: string): boolean => domain === 'localhost' || /[.:A-Z]/.test(domain);
const accepts = (text: string): boolean => parseImageReference(text).ok;

describe.skipIf(!present)('the tables of distribution/reference (skipped if shared/data is missing)', () => {
  it('Parse', () => {
    for (const row of rows('parse')) {
      const reference = parseImageReference(row.input);
      expect(reference.ok, row.input).toBe(row.err === undefined);
      if (!reference.ok) continue;
      const { host, repository, tag, digest } = reference;
      expect([host === undefined ? repository : `${host}/${repository}`, tag, digest]).toEqual([
        row.repository,
        row.tag,
        row.digest,
      ]);
      if (row.domain !== undefined && isExplicit(row.domain)) expect(host).toBe(row.domain);
    }
  });

  it('accepts and rejects the same domains', () => {
    for (const row of rows('domainRegexp')) expect(accepts(`${row.input}/x`), row.input).toBe(row.match);
  });

  it('full names', () => {
    for (const row of rows('fullNameRegexp')) {
      // That table is of names only; in a reference, a tag may follow the colon.
      const expected = row.match === true || row.input === 'foo_bar.com:8080';
      // The pattern has no length limit; references do.
      if (row.input.length > 255) continue;
      expect(accepts(row.input), row.input).toBe(expected);
    }
  });

  it('references with tag and digest', () => {
    for (const row of rows('referenceRegexp')) {
      const reference = parseImageReference(row.input);
      expect(reference.ok, row.input).toBe(row.match);
      if (!reference.ok || row.subs === undefined) continue;
      const { host, repository, tag = '', digest = '' } = reference;
      expect([host === undefined ? repository : `${host}/${repository}`, tag, digest]).toEqual(row.subs);
    }
  });

  it('rejects identifiers as names', () => {
    for (const row of rows('identifierRegexp')) {
      if (row.match === true) expect(accepts(row.input)).toBe(false);
    }
  });

  it("Docker's normal forms", () => {
    for (const row of rows('normalizedSplitHostname')) {
      expect(normalized(row.input)).toMatchObject({ domain: row.domain, path: row.path });
    }
    for (const row of rows('parseDockerRef')) {
      const parts = normalized(row.input);
      const suffix = parts?.digest === undefined ? `:${parts?.tag ?? 'latest'}` : `@${parts.digest}`;
      expect(`${parts?.domain}/${parts?.path}${suffix}`).toBe(row.expected);
    }
    for (const row of rows('parseAnyReference')) {
      // A bare digest is an image ID to Docker and nothing that can be pulled from a registry.
      if (row.Equivalent.startsWith('sha256:')) continue;
      expect(full(row.Reference)).toBe(row.Equivalent);
    }
    for (const row of rows('parseNamed')) {
      const parts = normalized(row.input);
      const canonical = parts !== undefined && `${parts.domain}/${parts.path}` === row.input;
      expect(canonical, row.input).toBe(row.err === undefined);
      if (row.err === undefined) expect(parts).toMatchObject({ domain: row.domain, path: row.path });
    }
    for (const row of rows('repositoryInfo')) {
      expect(full(row.FullName)).toBe(row.FullName);
      expect(normalized(row.FullName)).toEqual({ domain: row.Domain, path: row.RemoteName });
      if (row.AmbiguousName !== '') expect(full(row.AmbiguousName)).toBe(row.FullName);
    }
  });

  it('valid and invalid normal names', () => {
    for (const name of tables?.normalizedValid ?? []) expect(accepts(name), name).toBe(true);
    for (const name of tables?.normalizedInvalid ?? []) expect(accepts(name), name).toBe(false);
  });
});

describe('parseImageReference', () => {
  it('splits host, path, tag, and digest', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(parseImageReference(`ghcr.io/acme/set-labels:v1.2.3@${digest}`)).toEqual({
      ok: true,
      host: 'ghcr.io',
      repository: 'acme/set-labels',
      tag: 'v1.2.3',
      digest,
    });
    expect(parseImageReference('acme/set-labels')).toEqual({ ok: true, repository: 'acme/set-labels' });
    expect(parseImageReference('test.com:5000')).toEqual({ ok: true, repository: 'test.com', tag: '5000' });
    expect(parseImageReference('localhost/fn')).toEqual({ ok: true, host: 'localhost', repository: 'fn' });
  });

  it('reports why a reference is invalid', () => {
    const reason = (text: string): string => {
      const reference = parseImageReference(text);
      return reference.ok ? 'accepted' : reference.reason;
    };
    expect(reason('')).toBe('is empty');
    expect(reason('ghcr.io/acme/fn :v1')).toBe('has white space');
    expect(reason('docker://ghcr.io/acme/fn')).toBe('begins with a URL scheme');
    expect(reason('ghcr.io/acme/fn:')).toMatch(/tag/);
    expect(reason('ghcr.io/Acme/fn')).toMatch(/upper-case/);
    expect(reason('ghcr.io//fn')).toMatch(/empty part/);
    expect(reason('ghcr.io/acme/fn@sha256:abc')).toMatch(/digest/);
    expect(reason('-ghcr.io/acme/fn')).toMatch(/host/);
  });

  it('takes linear time', () => {
    const hostile = [
      `${'a-'.repeat(500)}!`,
      `${'a.'.repeat(500)}/x`,
      `x:${'a'.repeat(1_000)}`,
      'a'.repeat(5_000_000),
    ];
    const start = process.cpuUsage();
    for (const text of hostile) expect(parseImageReference(text).ok).toBe(false);
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
  });
});
