import { pinnedImage } from '@krmhub/catalog';
import type { ContainerRuntime, ExecRuntime, FunctionVersion } from '@krmhub/schema';
import { DefinitionList } from '../parts/definition-list.js';
import { ExternalLink, Text } from '../parts/text.js';

const MAX_PLATFORMS = 50;

/** How it runs, and what it may touch, in plain words. */
export function RuntimeSection({ version }: { version: FunctionVersion }) {
  const { container, exec, starlark } = version.runtime;
  return (
    <section aria-labelledby="runtime">
      <h2 id="runtime">What runs, and what it may touch</h2>
      {container === undefined ? null : <Container container={container} />}
      {exec === undefined ? null : <Executables exec={exec} />}
      {starlark === undefined ? null : (
        <>
          <p>
            A Starlark script, which the orchestrator interprets: it sees the resources that it is given, and
            neither files nor the network.
          </p>
          <DefinitionList
            items={[
              [
                'Script',
                <code>
                  <Text value={starlark} max={1_000} />
                </code>,
              ],
            ]}
          />
        </>
      )}
      <p>
        {version.idempotent
          ? 'Its author says that it is idempotent: run again on its own output, it changes nothing.'
          : 'Its author does not say that it is idempotent: run again on its own output, it may change that again.'}
      </p>
    </section>
  );
}

function Container({ container }: { container: ContainerRuntime }) {
  const { image, sha256, requireNetwork, requireStorageMount } = container;
  const pinned = pinnedImage(container);
  return (
    <>
      <p>A container, which kustomize and kpt start without rights of its own beyond these:</p>
      <DefinitionList
        items={[
          [
            'Network',
            requireNetwork === true ? (
              <strong>It needs the network. Whatever it is given, it could send elsewhere.</strong>
            ) : (
              'None: it asks for no network, and gets none.'
            ),
          ],
          [
            'Files',
            requireStorageMount === true ? (
              <strong>It needs folders of your machine mounted; you name them when you run it.</strong>
            ) : (
              'None: it sees the resources that it is given, and nothing else.'
            ),
          ],
          [
            'Image',
            <code>
              <Text value={image} max={1_100} />
            </code>,
          ],
          [
            'Digest',
            sha256 === undefined ? (
              image.includes('@') ? undefined : (
                'Not named: the tag decides what runs.'
              )
            ) : (
              <code class="digest">
                <Text value={`sha256:${sha256}`} max={100} />
              </code>
            ),
          ],
          [
            'Note',
            pinned === undefined ? 'The image is no image reference, so no snippet names it.' : undefined,
          ],
        ]}
      />
    </>
  );
}

function Executables({ exec: { platforms } }: { exec: ExecRuntime }) {
  return (
    <>
      <p>
        An executable: it runs on your machine <strong>with all the rights of who calls it</strong>, files and
        network among them.
      </p>
      <table>
        <caption class="unseen">Executables by platform</caption>
        <thead>
          <tr>
            <th scope="col">Platform</th>
            <th scope="col">Download</th>
            <th scope="col">sha256</th>
          </tr>
        </thead>
        <tbody>
          {platforms.slice(0, MAX_PLATFORMS).map(({ os, arch, bin, uri, sha256 }) => (
            <tr>
              <th scope="row" class="platform">
                <Text value={`${os}/${arch}`} max={40} />
              </th>
              <td>
                <ExternalLink url={uri} text={bin} />
                <br />
                <span class="quiet">
                  <Text value={uri} max={300} />
                </span>
              </td>
              <td>
                <code class="digest">
                  <Text value={sha256} max={80} />
                </code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {platforms.length > MAX_PLATFORMS ? (
        <p class="quiet">{platforms.length - MAX_PLATFORMS} more are in the definition.</p>
      ) : null}
    </>
  );
}
