// Command pulumi-resource-scaleway is the Scaleway Terraform provider behind Pulumi's Terraform bridge,
// cut down to the resources that this project manages. It is test equipment: users have the published
// plugin, whose module no Go proxy serves.
//
// What it has in common with the published plugin: the provider's own create, read, update, diff and
// delete code, and the type tokens and property names of pulumiverse-scaleway. What it lacks: a schema,
// so code generation (`pulumi import --generate-code`) does not work.
package main

import (
	"context"
	"log"
	"slices"
	"strings"

	pftfbridge "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge/tokens"
	shim "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/x/muxer"
	"github.com/pulumi/pulumi-terraform-bridge/v3/unstable/metadata"
	"github.com/scaleway/terraform-provider-scaleway/v2/provider"
)

// Set by the linker. It is not below the version that the Python SDK asks for (a lower one makes the engine
// warn), and its build part says that this is not the published plugin.
var version = "0.0.0"

const emptySchema = "{}"

// Terraform prefixes (after "scaleway_") and the modules that the Python SDK has for them.
var modules = map[string]string{
	"instance_": "instance",
	"block_":    "block",
	"vpc_":      "network",
	"ipam_":     "ipam",
}

// Everything else in these families, and every other product, would only make the plugin start slower.
func mapped(name string) bool {
	for _, prefix := range []string{"scaleway_instance_", "scaleway_block_", "scaleway_ipam_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "scaleway_vpc_private_network" || name == "scaleway_vpc"
}

func unmapped(maps ...shim.ResourceMap) []string {
	var names []string
	for _, resources := range maps {
		resources.Range(func(name string, _ shim.Resource) bool {
			if !mapped(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
			return true
		})
	}
	return names
}

func info(ctx context.Context) (tfbridge.ProviderInfo, error) {
	both := pftfbridge.MuxShimWithPF(ctx,
		shimv2.NewProvider(provider.SDKProvider(nil)()),
		provider.NewFrameworkProvider(nil)())
	built := tfbridge.ProviderInfo{
		P:              both,
		Name:           "scaleway",
		Version:        version,
		MetadataInfo:   tfbridge.NewProviderMetadata([]byte("{}")),
		IgnoreMappings: unmapped(both.ResourcesMap(), both.DataSourcesMap()),
		// The one name that the prefixes below do not reach.
		Resources: map[string]*tfbridge.ResourceInfo{
			"scaleway_vpc": {Tok: "scaleway:network/vpc:Vpc"},
		},
		DataSources: map[string]*tfbridge.DataSourceInfo{
			"scaleway_vpc": {Tok: "scaleway:network/getVpc:getVpc"},
		},
	}
	built.MustComputeTokens(tokens.MappedModules("scaleway_", "index", modules, tokens.MakeStandard("scaleway")))

	// Which of the two halves serves which resource: code generation usually stores this in a file.
	dispatcher := both.(interface {
		ResolveDispatch(*tfbridge.ProviderInfo) (muxer.DispatchTable, error)
	})
	table, err := dispatcher.ResolveDispatch(&built)
	if err != nil {
		return built, err
	}
	return built, metadata.Set(built.GetMetadata(), "mux", table)
}

func main() {
	ctx := context.Background()
	built, err := info(ctx)
	if err != nil {
		log.Fatalf("pulumi-resource-scaleway: %v", err)
	}
	pftfbridge.MainWithMuxer(ctx, "scaleway", built, []byte(emptySchema))
}
