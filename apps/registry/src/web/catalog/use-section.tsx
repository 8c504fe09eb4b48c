import { fillPath } from '@krmhub/api/paths';
import type { SnapshotRecord } from '@krmhub/catalog';
import { type Choice, ChoiceTabs } from '../parts/choice-tabs.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';
import { Downloads } from './downloads-section.js';

/** Ways to use the catalog. */
export function UseSection({ snapshot, isSigned }: { snapshot: SnapshotRecord; isSigned: boolean }) {
  const { publicUrl } = useSite();
  const { catalog, serial } = snapshot;
  // OCI references cannot have a path before /v2/.
  const isOci = publicUrl === undefined || new URL(publicUrl).pathname === '/';
  const choices: Choice[] = [
    {
      id: 'use-url',
      title: 'URL',
      body: (
        <CopySnippet
          label="URL of the catalog"
          caption="Configure this URL in an orchestrator. The ETag is the digest of the content."
          code={
            <>
              <RegistryAddress />
              {fillPath('catalogYaml', { name: catalog })}
            </>
          }
        />
      ),
    },
    {
      id: 'use-krmhub',
      title: 'krmhub',
      body: (
        <CopySnippet
          label="Pull the catalog"
          caption="As a file, checked against its digest, or pinned to this snapshot:"
          code={
            <>
              export KRMHUB_REGISTRY=
              <RegistryAddress />
              {`\nkrmhub catalog pull ${catalog} --out catalog.yaml`}
              {`\nkrmhub catalog pull ${catalog} --snapshot ${serial} --out catalog-${serial}.yaml`}
            </>
          }
        />
      ),
    },
  ];
  if (isOci) {
    choices.push({
      id: 'use-oras',
      title: 'oras',
      body: (
        <CopySnippet
          label="Pull the catalog with oras"
          caption="As an OCI artifact:"
          code={
            <>
              oras pull <RegistryAddress isHost />
              {`/catalogs/${catalog}:${serial}`}
            </>
          }
        />
      ),
    });
  }
  choices.push({
    id: 'downloads',
    title: 'Downloads',
    body: <Downloads snapshot={snapshot} isSigned={isSigned} />,
  });
  return (
    <section aria-labelledby="use">
      <h2 id="use">Use it</h2>
      <ChoiceTabs name="use-with" legend="Use it with" choices={choices} />
    </section>
  );
}
