module krmhub/test/interop/sample-function

go 1.21
