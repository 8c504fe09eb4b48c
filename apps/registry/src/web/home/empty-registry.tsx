import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** The first page of a registry in which nothing was published yet. */
export function EmptyRegistry() {
  const { at } = useSite();
  return (
    <div class="home">
      <h1>A registry of KRM functions</h1>
      <p class="lead">Nothing was published here yet. The first function takes three steps.</p>
      <ol class="steps">
        <li>
          <h2>Log in</h2>
          <p>
            The first token is in the file <code>admin.token</code> in the registry's data folder; its
            operator makes others.
          </p>
          <CopySnippet
            label="Log in"
            code={
              <>
                export KRMHUB_REGISTRY=
                <RegistryAddress />
                {'\n'}krmhub login
              </>
            }
          />
        </li>
        <li>
          <h2>Write a definition</h2>
          <p>
            <code>init</code> writes one that tells what to change, and <code>lint</code> what is left to do.
          </p>
          <CopySnippet
            label="Write a definition"
            code={'krmhub init example.com/AddOwner --dir add-owner\nkrmhub lint add-owner'}
          />
        </li>
        <li>
          <h2>Publish it</h2>
          <p>
            A release is forever: its bytes never change. It is in the{' '}
            <a href={at('/catalogs/default/catalog.yaml')}>catalog of everything</a> when the command ends.
          </p>
          <CopySnippet
            label="Publish it"
            code="krmhub publish add-owner/definition.yaml --release 0.1.0 --readme add-owner/README.md"
          />
        </li>
      </ol>
      <p>
        Functions of kpt and Krew plugins are converted by <code>krmhub convert</code>, and a catalog can take
        functions from catalogs elsewhere.
      </p>
    </div>
  );
}
