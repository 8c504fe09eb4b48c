/** Response of `/` for programs and terminals. */
export const FIRST_PAGE = `krmhub: a registry of KRM functions

/api/v1/functions                        search: q, tag, kind, group, owner, runtime, license, catalog
/api/v1/functions/{group}/{kind}         a function and its releases
/api/v1/catalogs                         catalogs and their recipes
/catalogs/default/catalog.yaml           the newest release of every function, as a KEP-2906 catalog
/catalogs/default/snapshots              its history
/.well-known/krmhub-key.pub              the key that signs snapshots now, and in krmhub-keys.json all
/schemas/{group}/{version}/{kind}.json   JSON Schema of a functionConfig, for editors
/v2/                                     OCI artifacts: functions/{group}/{kind}, catalogs/{name}, and others
/api/v1/events                           all changes, in order
/api/v1/revocations                      yanks and takedowns, in order, for mirrors
/openapi.json                            the whole API
/install /cli/checksums.txt              the command line of this registry, and digests of its files
/healthz /readyz /metrics                for operators

The command line is krmhub: krmhub search, krmhub show, krmhub publish, krmhub --help.
`;
