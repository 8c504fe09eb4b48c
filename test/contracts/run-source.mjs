import { defaultServerConditions, runnerImport } from 'vite';

/** Runs a TypeScript file of the workspace in a process of its own: `node run-source.mjs FILE ARGUMENT…`. */
const conditions = ['source', ...defaultServerConditions];
await runnerImport(process.argv[2], {
  configFile: false,
  logLevel: 'error',
  environments: { inline: { resolve: { conditions, noExternal: [/^@krmhub\//] } } },
});
