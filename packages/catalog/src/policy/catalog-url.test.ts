import { describe, expect, it } from 'vitest';
import { locateCatalog } from './catalog-url.js';

const identity = 'krm.example.com/catalogs/default';
const base = `https://${identity}`;

describe('the URL of a catalog', () => {
  it.each([
    base,
    `http://${identity}`,
    'https://krm.example.com:443/catalogs/default',
    'http://krm.example.com:80/catalogs/default',
    'https://KRM.Example.COM./catalogs//default/',
    'https://krm.example.com/catalogs/x/../d%65fault',
    `${base}/catalog.yaml?profile=kep`,
    `${base}/catalog.json`,
    `${base}/snapshot.sigstore.json`,
    `${base}/functions/catalogs/Kind.yaml`,
  ])('has one identity, also as %s', (text) => {
    expect(locateCatalog(text)).toEqual({ identity, name: 'default' });
  });

  it('contains a snapshot', () => {
    for (const file of ['', '/', '/catalog.yaml', '/snapshot.json']) {
      const located = locateCatalog(`${base}/snapshots/7${file}`);
      expect(located).toEqual({ identity, name: 'default', snapshot: '7' });
    }
  });

  it.each([
    ['another host', 'https://krm.example.org/catalogs/default'],
    ['another port', 'https://krm.example.com:8443/catalogs/default'],
    ['another name', 'https://krm.example.com/catalogs/other'],
    ['another path', 'https://krm.example.com/krm/catalogs/default'],
    ['another file', `${base}/other.yaml`],
  ])('differs for %s', (_, text) => {
    expect(locateCatalog(text)?.identity).not.toBe(identity);
  });

  it('is the same for all hosts of Docker Hub', () => {
    for (const host of ['docker.io', 'index.docker.io', 'registry-1.docker.io', 'Registry-1.Docker.io.']) {
      expect(locateCatalog(`https://${host}/team/catalog`)?.identity).toBe('docker.io/team/catalog');
    }
  });

  it('is the path without the file name on other hosts', () => {
    expect(locateCatalog('https://raw.example.com/team/catalog.yml')).toEqual({
      identity: 'raw.example.com/team',
    });
    expect(locateCatalog('https://b\u00fccher.example/c')?.identity).toBe('xn--bcher-kva.example/c');
    for (const text of ['catalog.yaml', 'file:///c', 'oci://h/c:1', ''])
      expect(locateCatalog(text)).toBeUndefined();
  });
});
