import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { noCosign } from './cosign.js';
import { manifestAt, registryHost, titleWithReason } from './oci-tools.js';
import { SigningUser } from './signing-user.js';

/** Reports of tests between `krmhub test` and cosign, in both directions. */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const type = 'https://in-toto.io/attestation/test-result/v0.1';
const offline = ['--use-signing-config=false', '--tlog-upload=false'];
const http = '--allow-http-registry';

describe.skipIf(noCosign !== undefined)(titleWithReason('reports of tests and cosign', noCosign), () => {
  let registry: RunningRegistry;
  let user: SigningUser;
  beforeAll(async () => {
    registry = await startRegistry(path.join(folder, 'data'));
    user = new SigningUser(folder);
    Object.assign(user.env, registry.env);
    user.storeCredentials(registryHost(registry), registry.token);
    for (const name of ['ours', 'other']) await user.succeeds('keygen', '--out', name);
    await user.cosign('generate-key-pair', '--output-key-prefix=theirs');
    await user.succeeds('init', 'example.com/SetOwner', '--runtime', 'starlark', '--out', 'owner');
    user.write('owner/definition.yaml', user.read('owner/definition.yaml').replaceAll('# CHANGE:', '#'));
    await user.succeeds('publish', 'owner/definition.yaml', '--release', '1.0.0');
  }, 300_000);
  afterAll(() => registry?.stop());

  const repository = 'functions/example.com/setowner';
  /** The release by its digest. */
  async function releaseReference(): Promise<string> {
    const { digest } = await manifestAt(registry.url, repository, '1.0.0');
    return `${registryHost(registry)}/${repository}@${digest}`;
  }
  const verify = (key: string, reference: string, predicate = type) => [
    'verify-attestation',
    '--insecure-ignore-tlog=true',
    http,
    `--type=${predicate}`,
    `--key=${key}`,
    reference,
  ];
  const reports = async () => {
    const { newest } = await user.krmhubMustSucceed('show', 'example.com/SetOwner');
    return (newest as { tests?: { result: string; signer: string }[] }).tests ?? [];
  };

  it('are verified by cosign, with the key of the tester and as test results', async () => {
    const reference = await releaseReference();
    await user.cosignIsRefused(...verify('ours.pub', reference));
    await user.succeeds('test', 'owner', '--release', '1.0.0', '--key', 'ours.key');
    const output = await user.cosign(...verify('ours.pub', reference));
    const { payload } = JSON.parse(output.split('\n').at(-1)!);
    const statement = JSON.parse(Buffer.from(payload, 'base64').toString());
    expect(statement).toMatchObject({ predicateType: type, predicate: { result: 'PASSED' } });
    await user.cosignIsRefused(...verify('other.pub', reference));
    await user.cosignIsRefused(...verify('ours.pub', reference, 'https://slsa.dev/provenance/v1'));
    expect(await reports()).toMatchObject([{ result: 'passed' }]);
  }, 300_000);

  it('of cosign are shown by the registry, unless they contradict themselves', async () => {
    const reference = await releaseReference();
    const attest = (predicate: object) => {
      user.write('predicate.json', JSON.stringify(predicate));
      return [
        'attest',
        '--yes',
        '--key=theirs.key',
        ...offline,
        http,
        `--type=${type}`,
        '--predicate=predicate.json',
        reference,
      ];
    };
    const lying = { result: 'PASSED', configuration: [], passedTests: ['a'], failedTests: ['b'] };
    expect(await user.cosignIsRefused(...attest(lying))).toContain('failedTests is not empty');
    await user.cosignIsRefused(...attest({ result: 'PASSED', configuration: [], passedTests: [] }));
    expect(await reports()).toHaveLength(1);
    await user.cosign(...attest({ result: 'FAILED', configuration: [], failedTests: ['scan'] }));
    expect((await reports()).map(({ result }) => result)).toEqual(['failed', 'passed']);
    const tests = ['verify', 'example.com/SetOwner@1.0.0', '--type', 'tests'];
    expect(await user.isUntrusted(...tests, '--key', 'theirs.pub')).toContain(
      '1 of 1 test failed, first: scan',
    );
    await user.succeeds(...tests, '--key', 'ours.pub');
  }, 300_000);
});
