import { copyFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { spawnSync } from '../processes.js';
import { root, temporaryFolder } from '../running.js';
import { missingReason, titleWithReason } from './oci-tools.js';

const whyNot = missingReason('promtool');
const [A, B] = ['job="krmhub",instance="a"', 'job="krmhub",instance="b"'];

/** Series of two processes, one sample a minute, and the alerts that fire at a time. */
interface Case {
  series: Record<string, string>;
  at: string;
  fires: Record<string, Record<string, string>[]>;
}

const CASES: Record<string, Case> = {
  'a check fails of one process, also if nobody probes it': {
    series: { [`krmhub_ready{${A},check="store"}`]: '0x10', [`krmhub_ready{${B},check="store"}`]: '1x10' },
    at: '8m',
    fires: { KrmhubNotReady: [{ job: 'krmhub', instance: 'a', check: 'store' }] },
  },
  'a process leads': {
    series: { [`krmhub_leader{${A}}`]: '1x10', [`krmhub_leader{${B}}`]: '0x10' },
    at: '8m',
    fires: { KrmhubNoLeader: [] },
  },
  'no process leads': {
    series: { [`krmhub_leader{${A}}`]: '0x10', [`krmhub_leader{${B}}`]: '0x10' },
    at: '8m',
    fires: { KrmhubNoLeader: [{ job: 'krmhub' }] },
  },
  'a process that led before has no old expiry, and the leader renews': {
    series: {
      [`krmhub_snapshot_signature_expiry_timestamp_seconds{${A},catalog="default"}`]: '10x10 _x120',
      [`krmhub_snapshot_signature_expiry_timestamp_seconds{${B},catalog="default"}`]: '_x10 9999999x120',
    },
    at: '2h',
    fires: { KrmhubSignatureExpires: [] },
  },
  'a signature expires': {
    series: { [`krmhub_snapshot_signature_expiry_timestamp_seconds{${A},catalog="default"}`]: '86400x130' },
    at: '2h',
    fires: { KrmhubSignatureExpires: [{ job: 'krmhub', catalog: 'default' }] },
  },
  'errors of two processes count together': {
    series: {
      [`krmhub_http_requests_total{${A},method="GET",route="/x",status="500"}`]: '0+0.4x20',
      [`krmhub_http_requests_total{${B},method="GET",route="/y",status="503"}`]: '0+0.4x20',
    },
    at: '15m',
    fires: { KrmhubErrors: [{ job: 'krmhub' }] },
  },
  'a source fails for all processes: one alert': {
    series: {
      [`krmhub_source_failing_seconds{${A},catalog="c",source="s"}`]: '90000x20',
      [`krmhub_source_failing_seconds{${B},catalog="c",source="s"}`]: '90000x20',
    },
    at: '15m',
    fires: { KrmhubSourceFails: [{ job: 'krmhub', catalog: 'c', source: 's' }] },
  },
};

describe.skipIf(whyNot !== undefined)(titleWithReason('the alerts', whyNot), () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);
  const rules = path.join(folder, 'alerts.yaml');
  copyFileSync(path.join(root, 'deploy/helm/files/alerts.yaml'), rules);
  const promtool = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', cwd: folder });
    return { status, said: stdout + stderr };
  };

  it('are rules of Prometheus', () => {
    expect(promtool('check', 'rules', '--lint-fatal', rules)).toMatchObject({ status: 0 });
  });

  it.each(Object.entries(CASES))('fire as they should: %s', (name, { series, at, fires }) => {
    const file = path.join(folder, `${Object.keys(CASES).indexOf(name)}.yaml`);
    const test = {
      interval: '1m',
      input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
      alert_rule_test: Object.entries(fires).map(([alertname, alerts]) => ({
        eval_time: at,
        alertname,
        exp_alerts: alerts.map((labels) => ({ exp_labels: { ...labels, severity: severityOf(alertname) } })),
      })),
    };
    const text = stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] });
    writeFileSync(file, text);
    const { status, said } = promtool('test', 'rules', file);
    // Annotations are texts for people: the test compares labels.
    const labels = (one: string) => [...one.matchAll(/(?:Labels:)(\{[^}]*\})/g)].map(([, found]) => found);
    if (status === 0) return;
    const [expected = '', got = ''] = said.split('got:');
    expect(labels(got), said).toEqual(labels(expected));
  });
});

function severityOf(alert: string): string {
  return ['KrmhubDown', 'KrmhubNoLeader', 'KrmhubSignatureExpires'].includes(alert) ? 'critical' : 'warning';
}
