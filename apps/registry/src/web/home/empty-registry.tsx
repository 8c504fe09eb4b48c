import { INSTALL } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** The first page of an empty registry. */
export function EmptyRegistry() {
  const { at } = useSite();
  return (
    <div class="home">
      <h1>A registry of KRM functions</h1>
      <p class="lead">
        This registry has no functions yet. <a href={at(INSTALL)}>Install krmhub</a>, and publish your first
        function in three steps.
      </p>
      <ol class="steps">
        <li>
          <h2>Log in</h2>
          <p>
            The first token is in the file <code>admin.token</code> in the data folder of the registry. The
            operator creates more tokens.
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
            <code>init</code> creates a template, and <code>lint</code> lists the lines to edit.
          </p>
          <CopySnippet
            label="Write a definition"
            code={'krmhub init example.com/AddOwner --out add-owner\nkrmhub lint add-owner'}
          />
        </li>
        <li>
          <h2>Publish it</h2>
          <p>
            A release never changes. It is in the{' '}
            <a href={at('/catalogs/default/catalog.yaml')}>catalog of all functions</a> when the command
            finishes.
          </p>
          <CopySnippet
            label="Publish it"
            code="krmhub publish add-owner/definition.yaml --release 0.1.0 --readme add-owner/README.md"
          />
        </li>
      </ol>
      <p>
        Convert kpt functions and Krew plugins with <code>krmhub convert</code>. A catalog can also include
        functions from upstream catalogs.
      </p>
    </div>
  );
}
