import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadAll } from 'js-yaml';
import { finished, spawn } from '../processes.js';

/** The manifest of a config management plugin. */
export interface PluginManifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: {
    version?: string;
    discover: { fileName: string };
    generate: { command: string[]; args?: string[] };
  };
}

/** What the repo server passes on for an application. */
export interface PluginRequest {
  /** The repository, and the folder of the application in it. */
  repository: string;
  path: string;
  /** Variables in the application's spec. */
  env?: Record<string, string>;
  /** Parameters in the application's spec. */
  parameters?: { name: string; string: string }[];
}

export interface Generated {
  code: number | null;
  /** Manifests, each with apiVersion and kind; undefined after an exit code other than 0. */
  manifests?: object[];
  stdout: string;
  /** What Argo CD shows for an exit code other than 0. */
  stderr: string;
}

/** Runs a command in a folder with variables. */
export type RunCommand = (
  command: readonly string[],
  options: { folder: string; env: Record<string, string> },
) => Promise<{ code: number | null; stdout: string; stderr: string }>;

/**
 * Does what argocd-cmp-server does in a sidecar (cmpserver/plugin/plugin.go): copies the repository to a folder of its
 * own, looks for the file of the plugin in the folder of the application, and runs the plugin's command there with the
 * variables of the sidecar and those of the application.
 */
export class PluginServer {
  readonly #plugin: PluginManifest;
  readonly #run: RunCommand;
  readonly #folder: string;

  constructor(plugin: PluginManifest, run: RunCommand) {
    this.#plugin = plugin;
    this.#run = run;
    this.#folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'krmhub-plugin-server-')));
  }

  /** Reports whether the plugin is for this application. */
  discovers({ repository, path: at }: PluginRequest): boolean {
    const { fileName } = this.#plugin.spec.discover;
    if (/[*?[\]\\]/.test(fileName)) throw new Error(`the test does not support the pattern ${fileName}`);
    return existsSync(path.join(repository, at, fileName));
  }

  async generate(request: PluginRequest): Promise<Generated> {
    const copy = mkdtempSync(path.join(this.#folder, 'repository-'));
    await cp(request.repository, copy, { recursive: true });
    const { command, args = [] } = this.#plugin.spec.generate;
    try {
      const { code, stdout, stderr } = await this.#run([...command, ...args], {
        folder: path.join(copy, request.path),
        env: applicationVariables(request),
      });
      return { code, stdout, stderr, ...(code === 0 ? { manifests: splitManifests(stdout) } : {}) };
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Runs commands on this machine, with the variables of a sidecar. */
export function runLocally(sidecar: NodeJS.ProcessEnv): RunCommand {
  return async ([program, ...args], { folder, env }) => {
    const child = spawn(program!, args, {
      cwd: folder,
      env: { ...sidecar, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return finished(child);
  };
}

/** Build environment, then the variables of the application with a prefix, and its parameters. */
function applicationVariables({
  path: at,
  env = {},
  parameters = [],
}: PluginRequest): Record<string, string> {
  return {
    ARGOCD_APP_NAME: 'shop',
    ARGOCD_APP_NAMESPACE: 'shop',
    ARGOCD_APP_PROJECT_NAME: 'default',
    ARGOCD_APP_REVISION: '0f'.repeat(20),
    ARGOCD_APP_SOURCE_PATH: at,
    ARGOCD_APP_SOURCE_REPO_URL: 'https://git.example.com/shop.git',
    ARGOCD_APP_SOURCE_TARGET_REVISION: 'main',
    ARGOCD_APP_PARAMETERS: JSON.stringify(parameters),
    KUBE_VERSION: '1.32.0',
    KUBE_API_VERSIONS: 'v1,apps/v1',
    ...Object.fromEntries(Object.entries(env).map(([name, value]) => [`ARGOCD_ENV_${name}`, value])),
    ...Object.fromEntries(
      parameters.map(({ name, string }) => [`PARAM_${name.toUpperCase().replace(/\W/g, '_')}`, string]),
    ),
  };
}

/** Throws for anything that is not a Kubernetes object (gitops-engine, `SplitYAML`). */
function splitManifests(text: string): object[] {
  return (loadAll(text) as unknown[])
    .filter((document) => document !== null && document !== undefined)
    .map((document) => {
      const { apiVersion, kind } = document as { apiVersion?: unknown; kind?: unknown };
      if (typeof document === 'object' && typeof apiVersion === 'string' && typeof kind === 'string')
        return document as object;
      throw new Error(`stdout has something else than manifests: ${JSON.stringify(document)}`);
    });
}
