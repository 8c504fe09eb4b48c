import { fillPath } from '@krmhub/api/paths';
import type { SnapshotRecord, Visibility } from '@krmhub/catalog';
import { catalogPath, docsPath } from '../addresses.js';
import { type Choice, ChoiceTabs } from '../parts/choice-tabs.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';
import { Downloads } from './downloads-section.js';

/** Ways to use the catalog. */
export function UseSection({
  snapshot,
  visibility,
  isSigned,
}: {
  snapshot: SnapshotRecord;
  visibility: Visibility;
  isSigned: boolean;
}) {
  const { at, publicUrl } = useSite();
  const { catalog, serial } = snapshot;
  // OCI references cannot have a path before /v2/.
  const isOci = publicUrl === undefined || new URL(publicUrl).pathname === '/';
  const url = (
    <>
      <RegistryAddress />
      {catalogPath(catalog)}
    </>
  );
  const choices: Choice[] = [
    {
      id: 'use-kustomize',
      title: 'kustomize',
      body: (
        <>
          <CopySnippet
            label="Catalog in a kustomization"
            caption="List the catalog in kustomization.yaml. The kind of a functionConfig names its function:"
            code={
              <>
                catalogs:{'\n'}- {url}
                {'\n'}transformers:{'\n'}- FUNCTION-CONFIG.yaml
              </>
            }
          />
          <CopySnippet
            label="Build with krmhub"
            caption="Build it:"
            code={<>krmhub build . --trusted-catalog {url}</>}
          />
          <CopySnippet
            label="Install plugins of kustomize"
            caption="Or install the functions as plugins, without the field catalogs:"
            code={
              <>
                krmhub plugins install -c {url}
                {'\n'}kustomize build --enable-alpha-plugins .
              </>
            }
          />
        </>
      ),
    },
    {
      id: 'use-kpt',
      title: 'kpt',
      body: (
        <>
          <CopySnippet
            label="Catalog in a Kptfile"
            caption="Name the catalog in the Kptfile. A functionConfig needs no image:"
            code={
              <>
                metadata:{'\n'}
                {'  '}annotations:{'\n'}
                {'    '}krmhub.dev/catalogs: {url}
                {'\n'}pipeline:{'\n'}
                {'  '}mutators:{'\n'}
                {'  '}- configPath: FUNCTION-CONFIG.yaml
              </>
            }
          />
          <CopySnippet
            label="Set images with krmhub"
            caption="Set the images by digest, and run the package:"
            code={
              <>
                krmhub kpt sync . --trusted-catalog {url}
                {'\n'}kpt fn render .
              </>
            }
          />
        </>
      ),
    },
    {
      id: 'use-krmhub',
      title: 'krmhub',
      body: (
        <>
          <CopySnippet
            label="Run a function with krmhub"
            caption="Run the function of a functionConfig on the resources of this folder:"
            code={<>krmhub fn eval . -c {url} --fn-config FUNCTION-CONFIG.yaml --dry-run</>}
          />
          <CopySnippet
            label="Pull the catalog"
            caption="Pull the catalog as a file, checked against its digest, or pinned to this snapshot:"
            code={
              <>
                export KRMHUB_REGISTRY=
                <RegistryAddress />
                {`\nkrmhub catalog pull ${catalog} --out catalog.yaml`}
                {`\nkrmhub catalog pull ${catalog} --snapshot ${serial} --out catalog-${serial}.yaml`}
              </>
            }
          />
        </>
      ),
    },
    {
      id: 'use-url',
      title: 'URL',
      body: (
        <CopySnippet
          label="URL of the catalog"
          caption="Configure this URL in another orchestrator. The ETag is the digest of the content."
          code={
            <>
              <RegistryAddress />
              {fillPath('catalogYaml', { name: catalog })}
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
      {visibility === 'public' ? null : (
        <p>
          This catalog is {visibility}. Commands read it with the token of <code>krmhub login</code>, and{' '}
          <a href={at(docsPath('private-registry'))}>other clients in other ways</a>.
        </p>
      )}
      <ChoiceTabs name="use-with" legend="Use it with" choices={choices} />
    </section>
  );
}
