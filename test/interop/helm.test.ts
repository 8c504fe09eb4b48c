import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../apps/registry/src/server/config.js';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, command, krmhub, root, startRegistry, temporaryFolder } from '../running.js';
import { type Manifest, parseManifests, validateManifests, whyNoSchemas } from './manifests.js';
import { missingReason, titleWithReason } from './oci-tools.js';

const chart = path.join(root, 'deploy/helm');
/** The chart has no default: without a registry, a name is that of an image of others. */
const image = ['--set', 'image.repository=registry.example.com/krmhub'];
const whyNoHelm = missingReason('helm');
const whyNoKubectl = missingReason('kubectl');

describe.skipIf(whyNoHelm !== undefined)(titleWithReason('the Helm chart', whyNoHelm), () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);

  const helm = (args: string[]) =>
    spawnSync('helm', args, { encoding: 'utf8', env: cleanEnvironment(folder) });
  const render = (...args: string[]): string => {
    const { status, stdout, stderr } = helm([
      ...['template', 'krmhub', chart, '--namespace', 'krmhub'],
      ...image,
      ...args,
    ]);
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  const find = (manifests: Manifest[], kind: string): Manifest =>
    manifests.find((manifest) => manifest.kind === kind);
  const settings = (...args: string[]) => find(parseManifests(render(...args)), 'ConfigMap').data;

  it('has no problems that helm lint finds', () => {
    const { status, stdout } = helm(['lint', '--strict', chart, ...image]);
    expect({ status, stdout }).toMatchObject({ status: 0 });
    expect(stdout).toContain('0 chart(s) failed');
  });

  it.skipIf(whyNoKubectl !== undefined)(
    titleWithReason('runs the same pod as the kustomization', whyNoKubectl),
    () => {
      const rendered = parseManifests(render());
      const { stdout } = spawnSync('kubectl', ['kustomize', path.join(root, 'deploy')], { encoding: 'utf8' });
      const expected = parseManifests(stdout);
      expect(rendered.map(({ kind }) => kind).sort()).toEqual(expected.map(({ kind }) => kind).sort());
      for (const kind of ['StatefulSet', 'Service', 'NetworkPolicy']) {
        expect(comparable(find(rendered, kind)), kind).toEqual(comparable(find(expected, kind)));
      }
      expect(find(rendered, 'ConfigMap').data).toEqual(find(expected, 'ConfigMap').data);
    },
  );

  it.skipIf(whyNoSchemas !== undefined)(
    titleWithReason('is valid by the strict schemas of Kubernetes', whyNoSchemas),
    () => {
      const values = path.join(folder, 'all.yaml');
      writeFileSync(
        values,
        `ingress: {enabled: true, className: nginx}
secrets: [upstream-certificates]
imagePullSecrets: [{name: pull}]
storage: {className: fast, size: 20Gi}
podAnnotations: {example.com/team: platform}
serviceAccount: {create: true, annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::123456789012:role/krmhub"}}
extraEnv: [{name: AWS_REGION, value: eu-west-1}]
extraVolumes: [{name: certificates, configMap: {name: certificates}}]
extraVolumeMounts: [{name: certificates, mountPath: /etc/certificates, readOnly: true}]
backup: {enabled: true}
networkPolicy: {egress: [{ports: [{port: 443, protocol: TCP}]}]}
nodeSelector: {disk: ssd}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
`,
      );
      for (const [name, text] of [
        ['default.yaml', render()],
        ['all-values.yaml', render('--values', values)],
        ['shared.yaml', render('--values', values, '--set', 'shared.enabled=true')],
      ] as const) {
        const file = path.join(folder, name);
        writeFileSync(file, text);
        expect(validateManifests(file)).toEqual({ status: 0, said: '' });
        writeFileSync(file, text.replace('automountServiceAccountToken', 'automountServiceToken'));
        expect(validateManifests(file)).toMatchObject({ status: 1 });
      }
    },
  );

  it('gives the pods an account, variables, volumes, and annotations', () => {
    const values = path.join(folder, 'pod.yaml');
    writeFileSync(
      values,
      `podAnnotations: {example.com/team: platform}
serviceAccount: {create: true, annotations: {example.com/role: krmhub}}
extraEnv: [{name: AWS_REGION, value: eu-west-1}]
extraVolumes: [{name: certificates, configMap: {name: certificates}}]
extraVolumeMounts: [{name: certificates, mountPath: /etc/certificates}]
`,
    );
    for (const [kind, ...args] of [['StatefulSet'], ['Deployment', '--set', 'shared.enabled=true']]) {
      const manifests = parseManifests(render('--values', values, ...args));
      expect(find(manifests, 'ServiceAccount').metadata).toMatchObject({
        name: 'krmhub',
        annotations: { 'example.com/role': 'krmhub' },
      });
      const { metadata, spec } = find(manifests, kind!).spec.template;
      expect(metadata.annotations['example.com/team']).toBe('platform');
      expect(spec.serviceAccountName).toBe('krmhub');
      expect(spec.containers[0].env).toEqual([{ name: 'AWS_REGION', value: 'eu-west-1' }]);
      expect(spec.containers[0].resources.requests['ephemeral-storage']).toBe('1Gi');
      expect(spec.containers[0].volumeMounts.at(-1).mountPath).toBe('/etc/certificates');
      expect(spec.volumes.at(-1).name).toBe('certificates');
    }
    const named = parseManifests(render('--set', 'serviceAccount.name=other'));
    expect(find(named, 'ServiceAccount')).toBeUndefined();
    expect(find(named, 'StatefulSet').spec.template.spec.serviceAccountName).toBe('other');
  });

  it('is scraped, and has alerts, for the Prometheus Operator', () => {
    const values = [
      'monitoring.serviceMonitor=true',
      'monitoring.rules=true',
      'monitoring.labels.release=prometheus',
    ];
    const { stdout } = helm([
      ...['template', 'second', chart, ...image],
      ...values.flatMap((value) => ['--set', value]),
    ]);
    const manifests = parseManifests(stdout);
    const monitor = find(manifests, 'ServiceMonitor');
    const service = find(manifests, 'Service');
    expect(service.metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
    expect(service.spec.ports.map(({ name }: Manifest) => name)).toContain(monitor.spec.endpoints[0].port);
    expect(monitor.metadata.labels.release).toBe('prometheus');
    const { spec, metadata } = find(manifests, 'PrometheusRule');
    expect(metadata.labels.release).toBe('prometheus');
    const [alerts] = parseManifests(readFileSync(path.join(chart, 'files/alerts.yaml'), 'utf8'));
    expect(JSON.stringify(spec)).toBe(
      JSON.stringify(alerts).replaceAll('job=\\"krmhub\\"', 'job=\\"second-krmhub\\"'),
    );
    expect(JSON.stringify(spec)).toContain('second-krmhub');
  });

  it('makes backups, and deletes only older ones', async () => {
    const registry = await startRegistry(path.join(folder, 'registry'));
    await registry.stop();
    const backups = path.join(folder, 'backups');
    const [old, other] = ['krmhub-20200101T000000Z', 'krmhub-20200102T000000Z'];
    for (const name of [old, other, 'a-file-of-others'])
      mkdirSync(path.join(backups, name), { recursive: true });
    const job = find(
      parseManifests(render('--set', 'backup.enabled=true', '--set', 'backup.keep=2')),
      'CronJob',
    );
    const pod = job.spec.jobTemplate.spec.template;
    expect(pod.spec.volumes[0].persistentVolumeClaim.claimName).toBe('data-krmhub-0');
    // It gets no requests.
    expect(pod.metadata.labels['app.kubernetes.io/name']).not.toBe('krmhub');
    const [program, ...args] = pod.spec.containers[0].command as string[];
    const local = args.map((arg) =>
      arg.replaceAll('/backups', backups).replaceAll('/opt/krmhub/program/bin/krmhub', command),
    );
    const run = () =>
      spawnSync(program!, local, {
        encoding: 'utf8',
        env: cleanEnvironment(folder, { KRMHUB_DATA: registry.data }),
      });
    const first = run();
    expect({ status: first.status, stderr: first.stderr }).toMatchObject({ status: 0 });
    const names = readdirSync(backups).sort();
    expect(names).toEqual(['a-file-of-others', other, expect.stringMatching(/^krmhub-\d{8}T\d{6}Z$/)]);
    expect((await krmhub(['fsck', '--data', path.join(backups, names[2]!)])).code).toBe(0);
    // A backup that fails deletes nothing.
    rmSync(path.join(registry.data, 'registry.db'));
    expect(run().status).not.toBe(0);
    expect(readdirSync(backups).sort()).toEqual(names);
  });

  it('gives the registry valid settings', () => {
    expect(readConfig(settings()).publicUrl).toBeUndefined();
    const withIngress = settings('--set', 'ingress.enabled=true', '--set', 'ingress.host=krm.example.com');
    expect(readConfig(withIngress).publicUrl).toBe('https://krm.example.com');
    expect(withIngress.KRMHUB_TRUSTED_PROXIES).toBe('10.0.0.0/8');
    const url = 'settings.KRMHUB_PUBLIC_URL=https://other.example.com';
    expect(settings('--set', 'ingress.enabled=true', '--set', url).KRMHUB_PUBLIC_URL).toBe(
      'https://other.example.com',
    );
    const values = path.join(folder, 'numbers.yaml');
    writeFileSync(values, 'settings: {KRMHUB_LARGE: 100000000, KRMHUB_HALF: 0.5, KRMHUB_FLAG: true}\n');
    expect(settings('--values', values)).toMatchObject({
      KRMHUB_LARGE: '100000000',
      KRMHUB_HALF: '0.5',
      KRMHUB_FLAG: 'true',
    });
  });

  it.skipIf(whyNoKubectl !== undefined)(
    titleWithReason('runs the same pods with PostgreSQL and S3 as the kustomization', whyNoKubectl),
    () => {
      const rendered = parseManifests(render('--set', 'shared.enabled=true'));
      const { stdout } = spawnSync('kubectl', ['kustomize', path.join(root, 'deploy/postgres-s3')], {
        encoding: 'utf8',
      });
      const expected = parseManifests(stdout);
      expect(rendered.map(({ kind }) => kind).sort()).toEqual(expected.map(({ kind }) => kind).sort());
      for (const kind of ['Deployment', 'PodDisruptionBudget', 'Service', 'NetworkPolicy']) {
        expect(comparable(find(rendered, kind)), kind).toEqual(comparable(find(expected, kind)));
      }
      expect(find(rendered, 'ConfigMap').data).toEqual(find(expected, 'ConfigMap').data);
      const slow = parseManifests(
        render('--set', 'shared.enabled=true', '--set', 'shared.shutdownDelaySeconds=30'),
      );
      expect(find(slow, 'ConfigMap').data.KRMHUB_SHUTDOWN_DELAY_SECONDS).toBe('30');
      expect(find(slow, 'Deployment').spec.template.spec.terminationGracePeriodSeconds).toBe(80);
    },
  );

  it('allows connections to the ports of the servers', () => {
    const ports = ['shared.databasePort=6432', 'shared.blobPort=9000'].flatMap((value) => ['--set', value]);
    const { spec } = find(parseManifests(render('--set', 'shared.enabled=true', ...ports)), 'NetworkPolicy');
    const allowed = spec.egress.flatMap((rule: Manifest) => rule.ports.map(({ port }: Manifest) => port));
    expect(allowed).toEqual([53, 53, 6432, 9000]);
  });

  it('restarts the pod if the settings change', () => {
    const pod = (...args: string[]) => find(parseManifests(render(...args)), 'StatefulSet').spec.template;
    expect(pod()).toEqual(pod());
    expect(pod('--set', 'settings.KRMHUB_LOG_LEVEL=warn')).not.toEqual(pod());
  });

  it('has its own names and selectors per release', () => {
    const { stdout } = helm(['template', 'second', chart, ...image, '--set', 'ingress.enabled=true']);
    const manifests = parseManifests(stdout);
    for (const { metadata } of manifests) expect(metadata.name).toBe('second-krmhub');
    const selector = { 'app.kubernetes.io/name': 'krmhub', 'app.kubernetes.io/instance': 'second' };
    expect(find(manifests, 'Service').spec.selector).toEqual(selector);
    expect(find(manifests, 'StatefulSet').spec.template.metadata.labels).toMatchObject(selector);
    expect(find(manifests, 'Ingress').spec.rules[0].http.paths[0].backend.service).toEqual({
      name: 'second-krmhub',
      port: { name: 'http' },
    });
  });

  it.each([
    ['an unknown value', ['--set', 'replicas=3'], 'replicas'],
    ['a setting without the prefix', ['--set', 'settings.LOG_LEVEL=info'], 'LOG_LEVEL'],
    ['no pods', ['--set', 'shared.replicas=0'], 'replicas'],
    ['no image', ['--set', 'image.repository='], 'set it to the name of the image with its registry'],
    ['an image without a registry', ['--set', 'image.repository=krmhub'], 'image.repository is "krmhub"'],
    ['an image with an owner only', ['--set', 'image.repository=acme/krmhub'], 'for example registry'],
  ])('refuses %s', (_name, args, said) => {
    const { status, stderr } = helm(['template', 'krmhub', chart, ...image, ...args]);
    expect(status).toBe(1);
    expect(stderr).toContain(said);
  });

  /** Runs the commands of a page, which need only a cluster, and returns the manifests of their values. */
  const install = (scripts: string[]): Manifest[] => {
    const script = scripts.join('\n');
    const place = mkdtempSync(path.join(folder, 'document-'));
    cpSync(chart, path.join(place, 'deploy/helm'), { recursive: true });
    const ran = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', `${script.trim()} --dry-run=client`], {
      cwd: place,
      env: cleanEnvironment(folder, { KUBECONFIG: path.join(folder, 'none') }),
      encoding: 'utf8',
    });
    const said = ran.stdout + ran.stderr;
    expect(said).toMatch(/cluster unreachable|host: krmhub\.example\.com/i);
    const [, values] = /<<'YAML'\n([\s\S]*?)YAML\n/.exec(script) ?? [];
    writeFileSync(path.join(place, 'values.yaml'), values ?? '');
    return parseManifests(render('--values', path.join(place, 'values.yaml')));
  };
  const ourImage = /^registry\.example\.com\/krmhub:/;

  it('is installed by the commands of the documentation, which need only a cluster', () => {
    const manifests = install(documentBlocks('docs/operate.md', 'helm'));
    expect(find(manifests, 'Ingress').spec.tls[0].hosts).toEqual(['krmhub.example.com']);
    expect(find(manifests, 'StatefulSet').spec.template.spec.containers[0].image).toMatch(ourImage);
    expect(find(manifests, 'ConfigMap').data.KRMHUB_LOG_LEVEL).toBe('warn');
  });

  it('is installed with several pods by those of its page', () => {
    const manifests = install(documentBlocks('docs/operate-replicas.md', 'helm'));
    const { replicas, template } = find(manifests, 'Deployment').spec;
    expect([replicas, template.spec.containers[0].image]).toEqual([3, expect.stringMatching(ourImage)]);
  });

  it('has the version of krmhub', () => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'apps/cli/package.json'), 'utf8'));
    const { version: chartVersion, appVersion } = parseManifests(
      readFileSync(path.join(chart, 'Chart.yaml'), 'utf8'),
    )[0];
    expect([chartVersion, appVersion]).toEqual([version, version]);
  });
});

/** Without what a chart adds: labels of the release, the digest of the settings, and generated names. */
function comparable(manifest: Manifest): Manifest {
  const removed =
    /^(app\.kubernetes\.io\/(instance|version|managed-by)|helm\.sh\/chart|krmhub\.dev\/settings)$/;
  const text = JSON.stringify(manifest, (key, value) => {
    if (removed.test(key) || key === 'imagePullPolicy') return undefined;
    return key === 'configMapRef' ? { name: 'krmhub' } : value;
  });
  return JSON.parse(text.replaceAll('registry.example.com/krmhub:', 'krmhub:'));
}
