// A client made of oras-go, the library that the oras command is made of: it pushes, pulls, attaches, discovers and
// copies as that command does, so that registries can be tried where the command itself is not installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

const usage = `usage:
  oras-go push   [-artifact-type TYPE] [-annotation KEY=VALUE] REFERENCE FILE:MEDIATYPE...
  oras-go attach [-artifact-type TYPE] REFERENCE FILE:MEDIATYPE...
  oras-go pull     REFERENCE FOLDER
  oras-go discover REFERENCE [TYPE]
  oras-go copy     [-r] FROM TO`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	artifactType := flags.String("artifact-type", "", "what the artifact is")
	annotation := flags.String("annotation", "", "an annotation of the manifest, as KEY=VALUE")
	recursive := flags.Bool("r", false, "copy what refers to the artifact too")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	rest := flags.Args()
	switch {
	case args[0] == "push" && len(rest) > 1:
		return push(ctx, rest[0], rest[1:], *artifactType, *annotation)
	case args[0] == "attach" && len(rest) > 1:
		return attach(ctx, rest[0], rest[1:], *artifactType)
	case args[0] == "pull" && len(rest) == 2:
		return pull(ctx, rest[0], rest[1])
	case args[0] == "discover" && len(rest) > 0:
		return discover(ctx, rest[0], strings.Join(rest[1:], ""))
	case args[0] == "copy" && len(rest) == 2:
		return copyArtifact(ctx, rest[0], rest[1], *recursive)
	}
	return errors.New(usage)
}

// Only registries of this machine are meant, which speak plain HTTP. Credentials are those of `docker login`, so that
// what a user keeps there is what is tried.
func repositoryOf(text string) (*remote.Repository, error) {
	repository, err := remote.NewRepository(text)
	if err != nil {
		return nil, err
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = true
	repository.Client = &auth.Client{
		Client:     retry.DefaultClient,
		Cache:      auth.NewCache(),
		Credential: credentials.Credential(store),
	}
	return repository, nil
}

func push(ctx context.Context, reference string, files []string, artifactType, annotation string) error {
	repository, err := repositoryOf(reference)
	if err != nil {
		return err
	}
	annotations := map[string]string{}
	if key, value, found := strings.Cut(annotation, "="); found {
		annotations[key] = value
	}
	return pack(ctx, repository, repository.Reference.Reference, files, artifactType, oras.PackManifestOptions{
		ManifestAnnotations: annotations,
	})
}

func attach(ctx context.Context, reference string, files []string, artifactType string) error {
	repository, err := repositoryOf(reference)
	if err != nil {
		return err
	}
	subject, err := repository.Resolve(ctx, repository.Reference.Reference)
	if err != nil {
		return err
	}
	return pack(ctx, repository, "", files, artifactType, oras.PackManifestOptions{Subject: &subject})
}

// Makes an artifact in a store of files, which gives every layer its file's name as a title, and copies it from there.
// Without a tag it is known by its digest alone.
func pack(ctx context.Context, to *remote.Repository, tag string, files []string, artifactType string, options oras.PackManifestOptions) error {
	store, err := file.New(".")
	if err != nil {
		return err
	}
	defer store.Close()
	for _, one := range files {
		name, mediaType, found := strings.Cut(one, ":")
		if !found {
			return fmt.Errorf("%s has no media type", one)
		}
		// The name alone: a path would be refused by who pulls, or make folders there.
		layer, err := store.Add(ctx, filepath.Base(name), mediaType, name)
		if err != nil {
			return err
		}
		options.Layers = append(options.Layers, layer)
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, artifactType, options)
	if err != nil {
		return err
	}
	if tag == "" {
		err = oras.CopyGraph(ctx, store, to, manifest, oras.DefaultCopyGraphOptions)
	} else if err = store.Tag(ctx, manifest, tag); err == nil {
		_, err = oras.Copy(ctx, store, tag, to, tag, oras.DefaultCopyOptions)
	}
	if err != nil {
		return err
	}
	fmt.Println(manifest.Digest)
	return nil
}

func pull(ctx context.Context, reference, folder string) error {
	repository, err := repositoryOf(reference)
	if err != nil {
		return err
	}
	store, err := file.New(folder)
	if err != nil {
		return err
	}
	defer store.Close()
	name := repository.Reference.Reference
	manifest, err := oras.Copy(ctx, repository, name, store, name, oras.DefaultCopyOptions)
	if err != nil {
		return err
	}
	fmt.Println(manifest.Digest)
	return nil
}

// Asks the registry's own list alone: without this the library would go on to the tag that stands in for the list,
// and nobody could tell which of them answered.
func discover(ctx context.Context, reference, artifactType string) error {
	repository, err := repositoryOf(reference)
	if err != nil {
		return err
	}
	if err := repository.SetReferrersCapability(true); err != nil {
		return err
	}
	subject, err := repository.Resolve(ctx, repository.Reference.Reference)
	if err != nil {
		return err
	}
	return repository.Referrers(ctx, subject, artifactType, func(found []specs.Descriptor) error {
		for _, one := range found {
			fmt.Println(one.Digest, one.ArtifactType)
		}
		return nil
	})
}

func copyArtifact(ctx context.Context, source, target string, recursive bool) error {
	from, err := repositoryOf(source)
	if err != nil {
		return err
	}
	to, err := repositoryOf(target)
	if err != nil {
		return err
	}
	var copied specs.Descriptor
	if recursive {
		copied, err = oras.ExtendedCopy(ctx, from, from.Reference.Reference, to, tagOf(to.Reference), oras.DefaultExtendedCopyOptions)
	} else {
		options := oras.DefaultCopyOptions
		// Within a registry blobs need not be sent again.
		if from.Reference.Registry == to.Reference.Registry {
			options.MountFrom = func(context.Context, specs.Descriptor) ([]string, error) {
				return []string{from.Reference.Repository}, nil
			}
		}
		copied, err = oras.Copy(ctx, from, from.Reference.Reference, to, tagOf(to.Reference), options)
	}
	if err != nil {
		return err
	}
	fmt.Println(copied.Digest)
	return nil
}

// A digest in the target is not a name to be given: the copy has its own.
func tagOf(reference registry.Reference) string {
	if digest.Digest(reference.Reference).Validate() == nil {
		return ""
	}
	return reference.Reference
}
