import { VERSION } from '../../io/version.js';

type Runtime = 'container' | 'exec';

/**
 * Returns a workflow of GitHub, which tests each change, and releases a tag. `setup` has steps that build the program,
 * and `run` is its command line.
 */
export function releaseWorkflow(runtime: Runtime, { setup, run }: { setup: string; run: string }): string {
  const { permissions, test, release } = STEPS[runtime];
  const prepare = `      - uses: actions/checkout@v4
${setup}      - run: npm install --global "$KRMHUB_REGISTRY/cli/krmhub-${VERSION}.tgz"
`;
  return `# Tests each change. A tag such as v1.0.0 builds, signs, and publishes a release.
#
# Settings of the repository: the variable KRMHUB_REGISTRY has the URL of the registry. No secret is needed if
# the owner of the group runs: krmhub publisher add GROUP --github OWNER/REPOSITORY --workflow release.yml.
# Otherwise, the secret KRMHUB_TOKEN has a token with the scope publish. If this folder is not the root of the
# repository, move this file to .github/workflows of the root, and set the folder:
# defaults: {run: {working-directory: FOLDER}}.
name: release
on:
  push:
    branches: [main]
    tags: ['v*']
  pull_request:
permissions: {}
env:
  KRMHUB_REGISTRY: \${{ vars.KRMHUB_REGISTRY }}
jobs:
  test:
    runs-on: ubuntu-latest
    permissions:
      contents: read
    steps:
${prepare}${test}      - run: krmhub lint .
      - run: krmhub test . --exec '${run}'
  release:
    needs: test
    if: github.ref_type == 'tag'
    runs-on: ubuntu-latest
    permissions:
      id-token: write # signs as this workflow
${permissions}    steps:
${prepare}${release}      - run: krmhub publish definition.yaml --release "$GITHUB_REF_NAME" --readme README.md --keyless
        env:
          KRMHUB_TOKEN: \${{ secrets.KRMHUB_TOKEN }}
`;
}

const STEPS: Record<Runtime, { permissions: string; test: string; release: string }> = {
  container: {
    permissions: '      contents: read\n      packages: write # pushes the image\n',
    test: '',
    release: `      - run: echo "IMAGE=ghcr.io/\${GITHUB_REPOSITORY,,}:$GITHUB_REF_NAME" >> "$GITHUB_ENV"
      - uses: docker/setup-buildx-action@v3
      - uses: docker/login-action@v3
        with:
          registry: ghcr.io
          username: \${{ github.actor }}
          password: \${{ github.token }}
      - uses: docker/build-push-action@v6
        with:
          context: .
          platforms: linux/amd64,linux/arm64
          push: true
          tags: \${{ env.IMAGE }}
      - run: krmhub pin definition.yaml --image "$IMAGE"
      - run: krmhub test .
`,
  },
  exec: {
    permissions: '      contents: write # attaches the executables to the release of the tag\n',
    // Without digests, the definition has errors.
    test: '      - run: krmhub pin definition.yaml --files build\n',
    release: `      - run: gh release create "$GITHUB_REF_NAME" --verify-tag --generate-notes build/*_*
        env:
          GH_TOKEN: \${{ github.token }}
      - run: >-
          krmhub pin definition.yaml --files build
          --downloads "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/releases/download/$GITHUB_REF_NAME"
      - run: krmhub test . --allow-exec
`,
  },
};
