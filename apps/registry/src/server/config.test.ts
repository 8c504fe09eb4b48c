import { KrmhubError } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { readConfig } from './config.js';

function listProblems(...input: Parameters<typeof readConfig>): string {
  try {
    readConfig(...input);
  } catch (error) {
    expect(error).toBeInstanceOf(KrmhubError);
    expect((error as KrmhubError).code).toBe('usage');
    return (error as KrmhubError).message;
  }
  throw new Error('accepted');
}

const DEFAULTS = {
  host: '127.0.0.1',
  port: 8080,
  dataFolder: './data',
  highlights: [],
  securityContacts: [],
  trustedProxies: [],
  internalAddresses: [],
  requestsPerMinute: 3_000,
  writesPerMinute: 3_000,
  failedLoginsPerMinute: 60,
  repositoryMebibytes: 0,
  untaggedDays: 0,
  snapshotValidDays: 30,
  catalogRestoreDays: 30,
  auditDays: 400,
  maxTokenDays: 3_650,
  maxUsers: 100_000,
  oidcConfirmDays: 30,
  shutdownDelaySeconds: 0,
  blobCacheBytes: 1_073_741_824,
  blobRedirect: false,
  sourceAddresses: [],
  signIn: [],
  logLevel: 'info',
};

describe('readConfig', () => {
  it('has a default for every setting, and listens on the loopback address only', () => {
    expect(readConfig({ HOME: '/root', PATH: '/bin' })).toEqual(DEFAULTS);
  });

  it('reads the environment, which the command line overrides', () => {
    const env = { KRMHUB_PORT: '0', KRMHUB_HOST: '::1', KRMHUB_DATA: '/srv/krm', KRMHUB_LOG_LEVEL: 'warn' };
    expect(readConfig(env)).toEqual({
      ...DEFAULTS,
      host: '::1',
      port: 0,
      dataFolder: '/srv/krm',
      logLevel: 'warn',
    });
    expect(readConfig(env, { port: '9000' }).port).toBe(9000);
    expect(readConfig({ KRMHUB_PUBLIC_URL: 'https://krm.example.com/hub/' }).publicUrl).toBe(
      'https://krm.example.com/hub',
    );
  });

  it('reads where the blobs are', () => {
    const env = {
      KRMHUB_BLOB_URL: 's3://blobs/hub?endpoint=http://localhost:7070',
      KRMHUB_BLOB_CACHE_MEBIBYTES: '2',
      KRMHUB_BLOB_REDIRECT: 'true',
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: '',
    };
    expect(readConfig(env)).toMatchObject({
      blobPlace: {
        bucket: 'blobs',
        prefix: 'hub',
        bucketUrl: 'http://localhost:7070/blobs',
        region: 'eu-central-1',
      },
      blobCacheBytes: 2_097_152,
      blobRedirect: true,
      s3Credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    });
    expect(readConfig(env, { blobUrl: 's3://other' }).blobPlace).toMatchObject({
      bucket: 'other',
      prefix: '',
    });
    expect(listProblems({ KRMHUB_BLOB_URL: 'http://blobs', KRMHUB_BLOB_REDIRECT: 'yes' })).toBe(
      'invalid configuration:\n  KRMHUB_BLOB_URL: "http://blobs" is not s3://BUCKET/PREFIX?endpoint=URL&region=REGION' +
        '\n  KRMHUB_BLOB_REDIRECT: "yes" is not true or false',
    );
  });

  it('reads the functions of the first page', () => {
    expect(
      readConfig({ KRMHUB_HIGHLIGHTS: 'example.com/SetLabels, fn.example.com/Check,' }).highlights,
    ).toEqual([
      { group: 'example.com', kind: 'SetLabels' },
      { group: 'fn.example.com', kind: 'Check' },
    ]);
    expect(listProblems({ KRMHUB_HIGHLIGHTS: 'example.com/SetLabels,SetLabels,a.b/C/D' })).toContain(
      'KRMHUB_HIGHLIGHTS: "SetLabels", "a.b/C/D": not a function such as example.com/SetLabels',
    );
    const many = Array.from({ length: 13 }, (_, index) => `example.com/Kind${index}`).join(',');
    expect(listProblems({ KRMHUB_HIGHLIGHTS: many })).toContain('more than 12 functions');
  });

  it('reads the settings of upstream catalogs', () => {
    const env = {
      KRMHUB_SOURCE_ADDRESSES: '10.0.0.0/8, fd00::/8,192.168.1.7',
      KRMHUB_SOURCE_FOLDER: '/srv/catalogs',
      KRMHUB_SOURCE_CREDENTIALS: '/run/secrets/sources.json',
    };
    expect(readConfig(env)).toMatchObject({
      sourceAddresses: ['10.0.0.0/8', 'fd00::/8', '192.168.1.7'],
      sourceFolder: '/srv/catalogs',
      sourceCredentials: '/run/secrets/sources.json',
    });
    expect(listProblems({ KRMHUB_SOURCE_ADDRESSES: '10.0.0.0/8,intranet' })).toContain(
      'KRMHUB_SOURCE_ADDRESSES: "intranet": not an address',
    );
  });

  it('treats an empty variable as unset, and rejects an empty flag', () => {
    expect(readConfig({ KRMHUB_PORT: '', KRMHUB_PUBLIC_URL: '' }).port).toBe(8080);
    expect(listProblems({}, { data: '' })).toContain('--data');
  });

  it('reports every problem at once, with the name of its setting', () => {
    const message = listProblems(
      { KRMHUB_HOST: 'a b', KRMHUB_LOG_LEVEL: 'loud', KRMHUB_PUBLIC_URL: 'ftp://x', KRMHUB_DAT: '/x' },
      { port: '65536' },
    );
    for (const part of [
      'KRMHUB_HOST: "a b"',
      'KRMHUB_LOG_LEVEL: "loud"',
      'KRMHUB_PUBLIC_URL: "ftp://x"',
      '--port: "65536"',
    ]) {
      expect(message).toContain(part);
    }
    expect(message).toContain('KRMHUB_DAT: unknown setting; did you mean KRMHUB_DATA?');
  });

  it.each(['-1', '80a', '1e3', '0x50', ' 80', '99999'])('rejects the port %j', (port) => {
    expect(listProblems({ KRMHUB_PORT: port })).toContain('is not a port');
  });

  it.each(['https://user:secret@x.example', 'https://x.example/?a=b', 'https://x.example/#a', 'x.example'])(
    'rejects the public URL %j',
    (url) => {
      expect(listProblems({ KRMHUB_PUBLIC_URL: url })).toContain('KRMHUB_PUBLIC_URL');
    },
  );

  it.each(['/api', '/catalogs/x', '/openapi.json', '/a//b', '/a%2fb'])(
    'rejects a public URL with the path %j',
    (path) => {
      expect(listProblems({ KRMHUB_PUBLIC_URL: `https://x.example${path}` })).toContain('has a path');
    },
  );

  it('reads trusted proxies and limits, and reports invalid ones', () => {
    const env = { KRMHUB_TRUSTED_PROXIES: '10.0.0.0/8, ::1 ,192.0.2.7,', KRMHUB_WRITES_PER_MINUTE: '0' };
    expect(readConfig(env)).toMatchObject({
      trustedProxies: ['10.0.0.0/8', '::1', '192.0.2.7'],
      writesPerMinute: 0,
    });
    const message = listProblems({
      KRMHUB_TRUSTED_PROXIES: '10.0.0.0/33,proxy.example,::1,10.0.0/8,1.2.3.4/',
      KRMHUB_REQUESTS_PER_MINUTE: '-1',
      KRMHUB_FAILED_LOGINS_PER_MINUTE: '1e3',
    });
    expect(message).toContain('"10.0.0.0/33", "proxy.example", "10.0.0/8", "1.2.3.4/": not an address');
    expect(message).toContain('KRMHUB_REQUESTS_PER_MINUTE: "-1"');
    expect(message).toContain('KRMHUB_FAILED_LOGINS_PER_MINUTE: "1e3"');
  });

  it('reads how long a registry that stops serves requests', () => {
    expect(readConfig({ KRMHUB_SHUTDOWN_DELAY_SECONDS: '300' }).shutdownDelaySeconds).toBe(300);
    for (const seconds of ['301', '-1', '1.5', '5s']) {
      expect(listProblems({ KRMHUB_SHUTDOWN_DELAY_SECONDS: seconds })).toContain(
        `KRMHUB_SHUTDOWN_DELAY_SECONDS: "${seconds}"`,
      );
    }
  });

  it('reads the validity of snapshot signatures', () => {
    expect(readConfig({}).snapshotValidDays).toBe(30);
    expect(readConfig({ KRMHUB_SNAPSHOT_VALID_DAYS: '3650' }).snapshotValidDays).toBe(3_650);
    expect(readConfig({ KRMHUB_CATALOG_RESTORE_DAYS: '0' }).catalogRestoreDays).toBe(0);
    expect(() => readConfig({ KRMHUB_CATALOG_RESTORE_DAYS: '-1' })).toThrow(/days from 0 to 3650/);
    for (const days of ['0', '3651', '-1', '1.5', 'x']) {
      expect(listProblems({ KRMHUB_SNAPSHOT_VALID_DAYS: days })).toContain(
        `KRMHUB_SNAPSHOT_VALID_DAYS: "${days}"`,
      );
    }
  });

  it('ignores the variables of the command line', () => {
    expect(() =>
      readConfig({ KRMHUB_REGISTRY: 'x', KRMHUB_TOKEN: 'y', KRMHUB_KEY_PASSWORD: '' }),
    ).not.toThrow();
  });
});
