import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Makes a certificate authority, and a certificate of it for a host. */
export function issuedCertificate(folder: string, host: string): { ca: Buffer; key: Buffer; cert: Buffer } {
  const at = (name: string) => path.join(folder, `${host}-${name}`);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const newKey = (name: string) => ['-newkey', 'rsa:2048', '-nodes', '-keyout', at(`${name}.key`)];
  openssl('req', '-x509', ...newKey('ca'), '-out', at('ca.pem'), '-days', '2', '-subj', '/CN=authority');
  openssl('req', ...newKey('host'), '-out', at('host.csr'), '-subj', '/CN=h');
  writeFileSync(at('host.ext'), `subjectAltName=DNS:${host}`);
  const signing = [
    '-CA',
    at('ca.pem'),
    '-CAkey',
    at('ca.key'),
    '-CAcreateserial',
    '-extfile',
    at('host.ext'),
  ];
  openssl('x509', '-req', '-in', at('host.csr'), ...signing, '-out', at('host.pem'), '-days', '2');
  const [ca, key, cert] = ['ca.pem', 'host.key', 'host.pem'].map((name) => readFileSync(at(name)));
  return { ca: ca!, key: key!, cert: cert! };
}

/** Makes a certificate of this machine that no client trusts. The files of its key and itself are in the folder. */
export function untrustedCertificate(folder: string): { key: Buffer; cert: Buffer } {
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const request = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
    '-days',
    '2',
  ];
  const subject = ['-subj', '/CN=h', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...request, ...subject], { stdio: 'ignore' });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}
