module trail

go 1.18
