// The pages of `seabed serve`.
