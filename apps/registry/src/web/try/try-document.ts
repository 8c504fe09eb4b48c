import { fillPath } from '@krmhub/api/paths';
import { exampleConfigText } from '@krmhub/catalog';
import { exampleConfig } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { TryItData } from '@krmhub/schema/documents/try-it';
import { versionNamed } from '@krmhub/schema/json-schema/function-config';
import { type Derivation, oncePerThread } from '../../workers/derive/derivation.js';
import { readDefinition, type StoredDefinition } from '../../workers/derive/stored-definition.js';
import { readAssets } from '../assets.js';
import { createSite, type Site } from '../site.js';
import { readRecordedExamples, type StoredReport } from './recorded-examples.js';
import { SAMPLE_RESOURCES } from './sample-resources.js';

const getSite = oncePerThread(({ config }): Site => createSite(config, readAssets()));

/** What a browser needs to try an API version, as JSON: see TryItData. */
export const TRY_DOCUMENT: Derivation<{
  stored: StoredDefinition;
  version: string;
  script?: { repository: string; digest: string };
  report?: StoredReport;
}> = {
  name: 'try-it',
  async derive(deps, { stored, version, script, report }) {
    const { at, assets } = getSite(deps);
    const definition = await readDefinition(deps, stored);
    const declared = versionNamed(definition, version);
    const { publicUrl } = deps.config;
    const name = { group: definition.group, kind: definition.names.kind, version };
    const schemaUrl = publicUrl && publicUrl + fillPath('functionConfigSchema', name);
    const file = (asset: string) => at(assets.path(asset));
    const data: TryItData = {
      ...name,
      schema: declared.schema.openAPIV3Schema,
      functionConfig: exampleConfigText(declared, exampleConfig(definition, version), schemaUrl),
      resources: SAMPLE_RESOURCES,
      examples: await readRecordedExamples(deps, report),
      ...defined({ script: script && { path: at(blobPath(script)), digest: script.digest } }),
      files: {
        style: file('try.css'),
        config: file('try-config.js'),
        rules: file('try-config-rules.js'),
        run: file('try-run.js'),
        frame: file('frame.html'),
        schemas: file('try-schemas.json'),
      },
    };
    return new TextEncoder().encode(JSON.stringify(data));
  },
};

function blobPath({ repository, digest }: { repository: string; digest: string }): string {
  return `/v2/${repository}/blobs/${digest}`;
}
