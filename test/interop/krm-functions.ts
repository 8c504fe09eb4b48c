import path from 'node:path';
import { build } from 'esbuild';
import { root } from '../running.js';

/** The functions of test/fixtures/krm-functions: file name, group and version by kind. */
export const KRM_FUNCTIONS = {
  Chart: { file: 'chart', group: 'helm.kustomize.io', version: 'v1beta1' },
  CommonApp: { file: 'common-app', group: 'team.example.com', version: 'v1beta1' },
  RequireLabels: { file: 'require-labels', group: 'team.example.com', version: 'v1beta1' },
} as const;
export type KrmFunction = keyof typeof KRM_FUNCTIONS;

/** Returns one of the functions as a single executable file, which needs `node`. */
export async function krmFunctionText(kind: KrmFunction): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path.join(root, `test/fixtures/krm-functions/${KRM_FUNCTIONS[kind].file}.mjs`)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    banner: { js: '#!/usr/bin/env node' },
  });
  return outputFiles[0]!.text;
}
