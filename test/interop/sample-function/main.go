// A KRM function that does what its functionConfig names, as packages/functions/src/testing/sample-function.mjs does:
// one static program, for images from scratch. With the argument "child" it ends only when it is killed.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type config struct {
	Action string
	Bytes  int64
	Port   int
	Path   string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		stay()
	}
	// So that a write fails and does not end the process.
	signal.Ignore(syscall.SIGXFSZ)
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	var list struct{ FunctionConfig config }
	if err := json.Unmarshal(input, &list); err != nil {
		fail(err)
	}
	act(list.FunctionConfig, input)
}

func act(config config, input []byte) {
	piece := []byte(strings.Repeat("x", 65536))
	switch config.Action {
	case "echo":
		os.Stdout.Write(input)
	case "fail":
		fmt.Fprintln(os.Stderr, "it failed")
		os.Stdout.Write(input)
		os.Exit(3)
	case "results":
		printList("results", []any{map[string]any{
			"message": "too many replicas", "severity": "warning", "field": map[string]string{"path": "spec.replicas"},
		}})
	case "silent":
	case "documents":
		fmt.Print("apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Secret\n")
	case "text":
		fmt.Println("starting the function")
	case "unnamed":
		fmt.Print("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n")
	case "endless":
		for {
			if _, err := os.Stdout.Write(piece); err != nil {
				os.Exit(1)
			}
		}
	case "flood":
		for count := 0; count < 64; count++ {
			os.Stderr.Write(piece)
		}
		os.Stdout.Write(input)
	case "environment":
		data := map[string]string{}
		for _, pair := range os.Environ() {
			name, value, _ := strings.Cut(pair, "=")
			data[name] = value
		}
		printList("items", []any{map[string]any{"data": data}})
	case "identity":
		status, _ := os.ReadFile("/proc/self/status")
		printMessage(string(status))
	case "read":
		text, err := os.ReadFile(config.Path)
		printMessage(fmt.Sprint(string(text), err))
	case "write":
		printMessage(fmt.Sprint(os.WriteFile(config.Path, []byte("changed"), 0o644)))
	case "hang":
		stay()
	case "fork":
		start(true, false)
		stay()
	case "leave":
		start(true, false)
		os.Stdout.Write(input)
	case "escape":
		start(false, true)
		os.Stdout.Write(input)
	case "keep":
		start(true, true)
		os.Stdout.Write(input)
	case "fill":
		file, err := os.Create(os.TempDir() + "/filled")
		if err != nil {
			fail(err)
		}
		if err := file.Truncate(config.Bytes); err == syscall.EFBIG || strings.Contains(fmt.Sprint(err), "too large") {
			printMessage("EFBIG")
		} else {
			printMessage(fmt.Sprint("written ", err))
		}
	case "connect":
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", config.Port), 10*time.Second)
		if err != nil {
			printMessage("ECONNREFUSED")
			return
		}
		connection.Close()
		printMessage("connected")
	case "crash":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	default:
		fail(fmt.Errorf("unknown action %q", config.Action))
	}
}

// start starts a process that stays, with or without the output of this one, and in its own session or not.
func start(inherit, session bool) {
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	child := exec.Command(self, "child")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if inherit {
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
	}
	if err := child.Start(); err != nil {
		fail(err)
	}
}

func stay() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for {
		time.Sleep(time.Hour)
	}
}

func printMessage(text string) {
	printList("results", []any{map[string]any{"message": text}})
}

func printList(field string, value any) {
	list := map[string]any{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []any{}}
	list[field] = value
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
