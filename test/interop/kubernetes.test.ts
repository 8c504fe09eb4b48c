import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { readConfig } from '../../apps/registry/src/server/config.js';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { programPath } from './container-engine.js';
import { type Manifest, parseManifests, validateManifests, whyNoSchemas } from './manifests.js';
import { missingReason, titleWithReason } from './oci-tools.js';

const whyNoKubectl = missingReason('kubectl');

describe.skipIf(whyNoKubectl !== undefined)(titleWithReason('the kustomization', whyNoKubectl), () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);
  let rendered: string;
  let script: string;
  let output: string;
  let base: Manifest[];
  let overlaid: Manifest[];

  beforeAll(() => {
    base = parseManifests(kubectl('kustomize', path.join(root, 'deploy')));
    // `apply -k` prints the manifests that it would send; commands that need a cluster must fail only
    // because there is none.
    cpSync(path.join(root, 'deploy'), path.join(folder, 'deploy'), { recursive: true });
    mkdirSync(path.join(folder, 'bin'));
    const real = programPath('kubectl');
    writeFileSync(
      path.join(folder, 'bin/kubectl'),
      `#!/bin/sh
if [ "$1 $2" = "apply -k" ]; then exec ${real} kustomize "$3" > rendered.yaml; fi
said=$(${real} --server http://127.0.0.1:1 "$@" 2>&1)
echo "$said"
case "$said" in *"connection refused"*|*"was refused"*) exit 0;; *) exit 1;; esac
`,
      { mode: 0o755 },
    );
    script = documentBlocks('docs/operate.md', 'kubectl').join('\n');
    const env = cleanEnvironment(folder, {
      PATH: `${path.join(folder, 'bin')}:${process.env.PATH}`,
      KUBECONFIG: path.join(folder, 'none'),
    });
    const ran = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    output = ran.stdout + ran.stderr;
    if (ran.status !== 0) throw new Error(`ended with ${ran.status}:\n${output}`);
    rendered = readFileSync(path.join(folder, 'rendered.yaml'), 'utf8');
    overlaid = parseManifests(rendered);
  });

  const find = (manifests: Manifest[], kind: string): Manifest =>
    manifests.find((manifest) => manifest.kind === kind);
  const pod = (manifests: Manifest[]) => find(manifests, 'StatefulSet').spec.template.spec;

  it('has these manifests', () => {
    const kinds = ['ConfigMap', 'NetworkPolicy', 'Service', 'StatefulSet'];
    expect(base.map(({ kind }) => kind).sort()).toEqual(kinds);
    expect(overlaid.map(({ kind }) => kind).sort()).toEqual([...kinds, 'Ingress'].sort());
    for (const { metadata } of base) expect(metadata).not.toHaveProperty('namespace');
    for (const { metadata } of overlaid) expect(metadata.namespace).toBe('krmhub');
  });

  it.skipIf(whyNoSchemas !== undefined)(
    titleWithReason('is valid by the strict schemas of Kubernetes', whyNoSchemas),
    () => {
      for (const [name, text] of [
        ['base.yaml', kubectl('kustomize', path.join(root, 'deploy'))],
        ['overlaid.yaml', rendered],
      ] as const) {
        const file = path.join(folder, name);
        writeFileSync(file, text);
        expect(validateManifests(file)).toEqual({ status: 0, said: '' });
        writeFileSync(file, text.replace('automountServiceAccountToken', 'automountServiceToken'));
        expect(validateManifests(file)).toMatchObject({ status: 1 });
      }
    },
  );

  it('runs one pod as non-root, with a read-only root file system and no privileges', () => {
    expect(find(base, 'StatefulSet').spec.replicas).toBe(1);
    const { securityContext, containers, automountServiceAccountToken, hostNetwork } = pod(base);
    expect(securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      fsGroup: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect([automountServiceAccountToken, hostNetwork]).toEqual([false, undefined]);
    expect(containers).toHaveLength(1);
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('has the same settings as the image', () => {
    const dockerfile = readFileSync(path.join(root, 'Dockerfile'), 'utf8');
    const { version } = JSON.parse(readFileSync(path.join(root, 'apps/cli/package.json'), 'utf8'));
    const [{ image, ports, volumeMounts }] = pod(base).containers;
    expect(image).toBe(`krmhub:${version}`);
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    expect(dockerfile).toContain(`\nEXPOSE ${ports[0].containerPort}\n`);
    expect(dockerfile).toContain(`\nVOLUME ${volumeMounts[0].mountPath}\n`);
    const { runAsUser, runAsGroup } = pod(base).securityContext;
    expect(dockerfile).toContain(`\nUSER ${runAsUser}:${runAsGroup}\n`);
  });

  it('gives the registry valid settings, and blocks those that Kubernetes would add', () => {
    for (const manifests of [base, overlaid]) {
      const { name } = find(manifests, 'ConfigMap').metadata;
      expect(pod(manifests).containers[0].envFrom).toEqual([{ configMapRef: { name } }]);
      expect(() => readConfig(find(manifests, 'ConfigMap').data)).not.toThrow();
    }
    expect(readConfig(find(overlaid, 'ConfigMap').data).publicUrl).toBe('https://krmhub.example.com');
    expect(pod(base).enableServiceLinks).toBe(false);
    expect(() => readConfig({ KRMHUB_SERVICE_HOST: '10.0.0.1' })).toThrow(/KRMHUB_SERVICE_HOST/);
  });

  it('waits for requests in flight, and probes existing endpoints', () => {
    const { terminationGracePeriodSeconds, containers } = pod(base);
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(SERVER_LIMITS.shutdownMilliseconds + 5_000);
    const [{ startupProbe, livenessProbe, readinessProbe }] = containers;
    const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path);
    expect(paths).toEqual(['/healthz', '/healthz', '/readyz']);
    expect(find(base, 'Service').spec.publishNotReadyAddresses).toBe(true);
  });

  it('routes from the Ingress to the pod', () => {
    const label = { 'app.kubernetes.io/name': 'krmhub' };
    const { rules, tls } = find(overlaid, 'Ingress').spec;
    expect(tls[0].hosts).toEqual([rules[0].host]);
    const service = find(overlaid, 'Service');
    expect(rules[0].http.paths[0].backend.service).toEqual({
      name: service.metadata.name,
      port: { name: 'http' },
    });
    expect(service.spec).toMatchObject({ selector: label, ports: [{ name: 'http', targetPort: 'http' }] });
    expect(find(overlaid, 'StatefulSet').spec.selector.matchLabels).toEqual(label);
    expect(find(overlaid, 'StatefulSet').spec.template.metadata.labels).toEqual(label);
    expect(find(overlaid, 'NetworkPolicy').spec.podSelector.matchLabels).toEqual(label);
    expect(pod(overlaid).containers[0].image).toBe(`registry.example.com/${pod(base).containers[0].image}`);
    expect(pod(overlaid).containers[0].ports[0].name).toBe('http');
  });
});

function kubectl(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('kubectl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}
